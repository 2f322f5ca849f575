"""More of `negation_cases`, by shape: each rule's sentences beside those that it would get wrong if it reached further.

Written for these tests.
"""

# A clause with a verb of its own behind a denial, and lists that only look like one.
_OWN_VERB = """
No effusion, cardiomegaly is present.|cardiomegaly|present
No effusion, cardiomegaly is present.|pleural effusion|absent
No pneumothorax, bibasilar atelectasis is noted.|atelectasis|present
No acute hemorrhage, chronic microvascular ischemic changes are noted.|ischemia|present
No fracture, degenerative changes are present in the lower spine.|degenerative change|present
No focal consolidation, cardiomegaly remains stable.|cardiomegaly|present
No hydronephrosis, renal calculi are again demonstrated.|stone|present
No new infarct, hydrocephalus has improved.|hydrocephalus|present
No pneumothorax, lungs show mild edema.|edema|present
No acute fracture, bones demonstrate osteopenia.|osteopenia|present
No mass, liver is cirrhotic with ascites.|ascites|present
No consolidation, left effusion has increased.|pleural effusion|present
Without pneumothorax, edema persists.|edema|present
Negative for fracture, soft tissue hematoma is evident.|hematoma|present
No bowel obstruction, however diverticulosis is noted.|diverticulitis|present
No pneumothorax or effusion, cardiomegaly is present.|cardiomegaly|present
No pneumothorax or effusion, cardiomegaly is present.|pleural effusion|absent
No pneumothorax, effusion or mass, cardiomegaly is present.|cardiomegaly|present
No pneumothorax, effusion or mass, cardiomegaly is present.|mass|absent
No effusion, fracture of the sixth rib is healing.|fracture|present
No pneumothorax, pneumonia is possible.|pneumonia|uncertain
No pneumothorax, pneumonia is unlikely.|pneumonia|absent
No effusion, pneumothorax is not seen.|pneumothorax|absent
No effusion, consolidation or pneumothorax is present.|consolidation|absent
No effusion, consolidation or pneumothorax is present.|pneumothorax|absent
No mass, hemorrhage, or infarct is identified.|hemorrhage|absent
No consolidation, effusion, pneumothorax is seen.|pneumothorax|absent
No consolidation, effusion, pneumothorax is seen.|pleural effusion|absent
No mass, hemorrhage, hydrocephalus, infarct is identified.|infarct|absent
No mass, cyst and stone are seen.|cyst|absent
No mass, cyst and stone are seen.|stone|absent
No effusion, consolidation/pneumothorax is present.|pneumothorax|absent
No effusion, pneumothorax.|pneumothorax|absent
No effusion, pneumothorax seen.|pneumothorax|absent
No effusion, pneumothorax identified on this view.|pneumothorax|absent
No nodule, mass that is suspicious for malignancy.|mass|absent
No mass, nodule which is larger than 4 mm.|nodule|absent
No mass, lesion or cyst that has enlarged.|lesion|absent
No fracture, dislocation, as far as is seen.|dislocation|absent
No fracture, dislocation where there was trauma.|dislocation|absent
No focal consolidation, pneumothorax. Heart is normal.|pneumothorax|absent
The lungs are clear, no effusion, pneumothorax.|pneumothorax|absent
Neither effusion, consolidation nor pneumothorax is present.|consolidation|absent
The radiograph shows no fracture, dislocation.|dislocation|absent
No acute abnormality, cardiomegaly is present.|cardiomegaly|present
No acute cardiopulmonary process, mild scoliosis is noted.|scoliosis|present
No acute osseous findings, osteophytes are seen.|osteophyte|present
No effusion, and cardiomegaly is noted.|cardiomegaly|present
No mass, infarct, and hemorrhage is seen.|hemorrhage|absent
No fracture, dislocation is unlikely.|dislocation|absent
If there is pneumonia, effusion is expected.|pleural effusion|uncertain
Rule out pneumonia, effusion is present.|pleural effusion|present
Consolidation and edema, effusion is not seen.|consolidation|present
No pneumothorax, small effusion, no mass or fracture.|pleural effusion|present
No pneumothorax, small effusion, no mass or fracture.|fracture|absent
No definite, displaced fracture is seen.|fracture|absent
No acute, displaced rib fracture is present.|fracture|absent
No focal, segmental or lobar consolidation is present.|consolidation|absent
No definite, displaced, comminuted fracture is seen.|fracture|absent
No acute, displaced fracture, cardiomegaly is present.|cardiomegaly|present
No displaced rib fracture, right basilar atelectasis is unchanged.|atelectasis|present
There is no evidence of acute cholecystitis, gallstones are present.|stone|present
No pleural effusion, the pneumothorax has resolved.|pneumothorax|absent
No focal consolidation, large pleural effusion, or overt edema is detected.|pleural effusion|absent
No evidence of pulmonary embolism, aortic dissection, or aneurysm.|dissection|absent
No fracture, 2 nodules in the lung.|nodule|present
No lesion in segments 2 and 3 of the liver, metastasis.|metastasis|absent
No mass, no nodule, cardiomegaly is present.|cardiomegaly|present
No mass, no definite, displaced fracture is seen.|fracture|absent
No fracture, dislocation, or significant soft tissue edema is appreciated.|edema|absent
No gross consolidation, pneumothorax or pleural effusion has developed.|pneumothorax|absent
There is no mass, cyst, calcification.|calcification|absent
No pneumothorax, pneumomediastinum.|pneumomediastinum|absent
No effusion, infiltrate, or pneumothorax is present, bony structures are intact.|pneumothorax|absent
No effusion is present, pneumothorax is present.|pneumothorax|present
Lungs show no nodule, mass, or consolidation, and no effusion is present.|pleural effusion|absent
There is no acute infarct, hemorrhage, mass effect or hydrocephalus, ventricles are normal.|mass effect|absent
No evidence of fracture, joint effusion is small.|joint effusion|present
No mass lesion, abnormal enhancement, or hemorrhage is noted.|hemorrhage|absent
No calcified stones, gallbladder wall has inflammation.|inflammation|present
No discrete mass, architectural distortion, or suspicious calcifications are seen.|calcification|absent
No new or enlarging nodule, mass is unchanged.|mass|present
Without fracture, dislocation or bony lesion, osteopenia is diffuse.|osteopenia|present
No fracture at levels 2 and 3 of the spine, dislocation or hematoma.|hematoma|absent
No large, loculated effusion is seen.|pleural effusion|absent
Possible pneumonia, cardiomegaly is present.|cardiomegaly|present
The differential includes abscess, tumor is less likely.|abscess|uncertain
"""

# "No A with B" of a size or degree, and what only describes A.
_WITH = """
No pneumothorax with small effusion.|pleural effusion|present
No pneumothorax with small effusion.|pneumothorax|absent
No pneumothorax with a small left pleural effusion.|pleural effusion|present
No consolidation with mild pulmonary edema.|edema|present
No focal consolidation with minimal bibasilar atelectasis.|atelectasis|present
No hydronephrosis with tiny renal stones.|stone|present
No fracture with moderate osteoarthritis of the knee.|degenerative change|present
No evidence of pneumonia with stable cardiomegaly.|cardiomegaly|present
No acute hemorrhage with old lacunar infarct.|infarct|present
No pneumothorax with unchanged bilateral effusions.|pleural effusion|present
No fracture with large joint effusion.|joint effusion|present
No new infarct with severe stenosis of the left ICA.|stenosis|present
There is no appendicitis with trace free fluid in the pelvis.|ascites|present
No pneumonia with slight cardiomegaly.|cardiomegaly|present
Without pneumothorax with small residual effusion.|pleural effusion|present
Negative for fracture with mild degenerative changes.|degenerative change|present
No lymphadenopathy with 6 mm nodule in the lingula.|nodule|present
No pneumothorax with a moderate-sized effusion.|pleural effusion|present
No mass with mildly enlarged lymph nodes.|lymphadenopathy|present
No mass with multiple small cysts in the liver.|cyst|present
No pneumothorax with moderately large effusion.|pleural effusion|present
No pneumothorax with persistent edema and small effusions.|edema|present
No pneumothorax with persistent edema and small effusions.|pleural effusion|present
No pneumothorax with small effusion or consolidation.|pleural effusion|absent
No pneumothorax with large effusion, mass or fracture.|pleural effusion|absent
No lesion with calcification.|calcification|absent
No fracture with dislocation.|dislocation|absent
No mass with cavitation or calcification.|calcification|absent
No infarct with hemorrhage.|hemorrhage|absent
No infarct with associated hemorrhage.|hemorrhage|absent
No hematoma with significant mass effect.|mass effect|absent
No mass with a necrotic area.|necrosis|absent
No hernia with incarceration or bowel obstruction.|bowel obstruction|absent
No pneumonia with parapneumonic effusion.|pleural effusion|absent
No findings consistent with pneumonia.|pneumonia|absent
No findings compatible with small bowel obstruction.|bowel obstruction|absent
No findings associated with mild edema.|edema|absent
No opacity in keeping with severe pneumonia.|pneumonia|absent
No pattern in line with chronic fibrosis.|fibrosis|absent
No acute process with mild cardiomegaly.|cardiomegaly|present
Consolidation with small effusion is not seen.|consolidation|absent
Consolidation with small effusion is not seen.|pleural effusion|absent
Pneumonia with small effusion cannot be excluded.|pneumonia|uncertain
Possible pneumonia with small effusion.|pneumonia|uncertain
Possible pneumonia with small effusion.|pleural effusion|uncertain
No opacity consistent with mild pneumonia.|pneumonia|absent
Lungs without consolidation with stable emphysema.|emphysema|present
The mass has no calcification with mild edema around it.|edema|present
No aneurysm with significant stenosis.|stenosis|absent
No abscess with surrounding inflammation.|inflammation|absent
"""

# What can be, has been or is excluded, and what is yet to be.
_EXCLUDED = """
Pneumonia can be ruled out.|pneumonia|absent
Pneumonia has been ruled out.|pneumonia|absent
Pneumonia is excluded.|pneumonia|absent
A fracture can be excluded.|fracture|absent
Pulmonary embolism can safely be ruled out.|embolism|absent
Pulmonary embolism can be reliably excluded.|embolism|absent
Pneumothorax can therefore be excluded.|pneumothorax|absent
Fractures and dislocations can be ruled out.|fracture|absent
Fractures and dislocations can be ruled out.|dislocation|absent
Metastases have been excluded.|metastasis|absent
Aortic dissection was ruled out on CT angiography.|dissection|absent
Aortic dissection is effectively ruled out.|dissection|absent
Appendicitis is thereby excluded.|appendicitis|absent
Pulmonary embolism ruled out with CT.|embolism|absent
Fracture excluded on MRI.|fracture|absent
We can exclude a fracture.|fracture|absent
We can rule out pulmonary embolism.|embolism|absent
We were able to exclude a fracture.|fracture|absent
The scan is sufficient to exclude a hemorrhage.|hemorrhage|absent
Pneumonia cannot be ruled out.|pneumonia|uncertain
Pneumonia can not be ruled out.|pneumonia|uncertain
Pneumonia can't be safely excluded.|pneumonia|uncertain
A fracture can't be excluded.|fracture|uncertain
A fracture can hardly be excluded.|fracture|uncertain
A fracture can never be fully excluded.|fracture|uncertain
A fracture cannot entirely be excluded.|fracture|uncertain
A fracture cannot with certainty be excluded.|fracture|uncertain
Pneumonia has not yet been ruled out.|pneumonia|uncertain
Pneumonia hasn't been excluded.|pneumonia|uncertain
Pneumonia is not excluded by this study.|pneumonia|uncertain
Pneumonia is not entirely excluded.|pneumonia|uncertain
Fracture not excluded.|fracture|uncertain
Pneumonia should be ruled out.|pneumonia|uncertain
Malignancy must be excluded.|tumor|uncertain
Malignancy needs to be excluded.|tumor|uncertain
Malignancy has to be ruled out.|tumor|uncertain
Malignancy remains to be excluded.|tumor|uncertain
Malignancy is to be excluded.|tumor|uncertain
Malignancy still has to be ruled out by biopsy.|tumor|uncertain
Malignancy can only be excluded by biopsy.|tumor|uncertain
Malignancy can be excluded only by biopsy.|tumor|uncertain
Pneumonia might be excluded.|pneumonia|uncertain
Pneumonia can neither be confirmed nor excluded.|pneumonia|uncertain
Pneumonia is neither confirmed nor ruled out.|pneumonia|uncertain
Pneumonia can be considered.|pneumonia|uncertain
CT is needed to rule out a fracture.|fracture|uncertain
Insufficient to exclude a hemorrhage.|hemorrhage|uncertain
We cannot exclude a fracture.|fracture|uncertain
We were not able to exclude a fracture.|fracture|uncertain
We could not rule out pulmonary embolism.|embolism|uncertain
CT could rule out pulmonary embolism.|embolism|uncertain
Pneumonia can be ruled out, a mass is present.|mass|present
A mass is present, pneumonia can be ruled out.|mass|present
The possibility of pneumonia can be ruled out.|pneumonia|absent
A possible fracture of the distal radius is excluded.|fracture|absent
If a fracture is excluded, mobilise the limb.|fracture|uncertain
Fracture can now be excluded.|fracture|absent
Fracture cannot now be excluded.|fracture|uncertain
Malignancy is reasonably excluded.|tumor|absent
It is not possible to rule out malignancy.|tumor|uncertain
No abscess, pneumonia excluded by CT, effusion on the left.|pleural effusion|present
Follow until a malignancy is excluded.|tumor|uncertain
An underlying neoplasm is difficult to exclude.|tumor|uncertain
Pneumonia as well as edema can be excluded.|pneumonia|absent
A fracture can be seen in the distal radius.|fracture|present
A fracture can easily be missed.|fracture|present
Malignancy must first be excluded.|tumor|uncertain
Malignancy could be excluded.|tumor|uncertain
A fracture can be ruled out if the lateral view is normal.|fracture|uncertain
PE excluded; pneumonia not excluded.|pneumonia|uncertain
Hemorrhage is not seen, fracture can be excluded.|fracture|absent
No hemorrhage is seen, fracture excluded by CT.|fracture|absent
No hemorrhage; a fracture is excluded, but an infarct is not excluded.|infarct|uncertain
"""

# None counted, and a zero that is something else.
_ZERO = """
Zero nodules.|nodule|absent
Zero nodules are seen.|nodule|absent
There are zero nodules.|nodule|absent
There are zero suspicious pulmonary nodules or masses.|nodule|absent
There are zero suspicious pulmonary nodules or masses.|mass|absent
The image shows zero microaneurysms and zero hemorrhages.|aneurysm|absent
The image shows zero microaneurysms and zero hemorrhages.|hemorrhage|absent
There is zero evidence of metastatic disease.|metastasis|absent
0 polyps were found.|polyp|absent
There are 0 gallstones.|stone|absent
Nodules: 0|nodule|absent
Nodules: zero.|nodule|absent
Nodules: 0, masses: 2.|nodule|absent
Nodules: 0, masses: 2.|mass|present
The number of nodules is zero.|nodule|absent
The number of lesions is 0.|lesion|absent
With zero fractures and a small effusion.|pleural effusion|present
Zero nodules, but one mass.|mass|present
Zero effusion, cardiomegaly is present.|cardiomegaly|present
There are 10 nodules.|nodule|present
A 2.0 cm nodule.|nodule|present
A 1,0 cm nodule.|nodule|present
A 0.5 cm nodule.|nodule|present
A 10 x 0 mm mass.|mass|present
Stage 0 cancer.|tumor|present
BI-RADS 0: mass in the left breast.|mass|present
BI-RADS 0, mass in the left breast.|mass|present
Day 0: hematoma of the thigh.|hematoma|present
Non-zero nodules.|nodule|present
Zero change in the effusion.|pleural effusion|present
Zero doubt that there is a fracture.|fracture|present
The nodule has grown from 0 to 4 mm.|nodule|present
Lesion count: 0.|lesion|absent
The report lists zero fractures, zero dislocations.|dislocation|absent
Number of polyps: 0.|polyp|absent
Number of polyps: 10.|polyp|present
Number of polyps: 0.5|polyp|present
Polyps: 0/3|polyp|present
Mass in the left breast (BI-RADS: 0).|mass|present
There are 0 masses and 3 nodules.|mass|absent
There are 0 masses and 3 nodules.|nodule|present
Slice 0 shows a mass.|mass|present
Frame 0 mass.|mass|present
T0N0 tumor.|tumor|present
Grade 0 hydronephrosis.|hydronephrosis|present
The attenuation of the cyst is 0 HU.|cyst|present
Attenuation is 0 HU in the cyst.|cyst|present
The cyst measures 0 to 10 HU.|cyst|present
"""

SHAPES = {
    name: [tuple(line.split("|")) for line in table.strip().splitlines()]
    for name, table in (("own verb", _OWN_VERB), ("with", _WITH), ("excluded", _EXCLUDED), ("zero", _ZERO))
}
