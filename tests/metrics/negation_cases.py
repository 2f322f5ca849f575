"""Sentences, a finding that each mentions, and what it says of it. Written for these tests.

A line is `sentence|finding|polarity`; a line break within a sentence is written `\\n`.
"""

_TABLE = """
No pneumothorax.|pneumothorax|absent
There is no pneumothorax.|pneumothorax|absent
No evidence of pneumothorax.|pneumothorax|absent
Without evidence of pneumonia.|pneumonia|absent
There is no radiographic evidence of pneumonia.|pneumonia|absent
No focal consolidation, pleural effusion, or pneumothorax.|consolidation|absent
No focal consolidation, pleural effusion, or pneumothorax.|pleural effusion|absent
No focal consolidation, pleural effusion, or pneumothorax.|pneumothorax|absent
Lungs are clear without effusion.|pleural effusion|absent
The lungs are free of consolidation.|consolidation|absent
Negative for fracture.|fracture|absent
The examination is negative for pulmonary embolism.|embolism|absent
Absence of pleural effusion.|pleural effusion|absent
Lack of pleural effusion.|pleural effusion|absent
Neither pneumothorax nor effusion is seen.|pneumothorax|absent
Neither pneumothorax nor effusion is seen.|pleural effusion|absent
The patient denies hemorrhage.|hemorrhage|absent
CT ruled out pulmonary embolism.|embolism|absent
This rules out fracture.|fracture|absent
The radiograph fails to show a fracture.|fracture|absent
The scan does not show a mass.|mass|absent
The scan does not demonstrate hydronephrosis.|hydronephrosis|absent
We do not see a fracture.|fracture|absent
I do not think there is pneumonia.|pneumonia|absent
The study didn't reveal ascites.|ascites|absent
The lungs do not contain nodules.|nodule|absent
The opacity is not a mass.|mass|absent
The mass does not represent a metastasis.|metastasis|absent
No definite fracture is identified.|fracture|absent
No suspicious nodule.|nodule|absent
No findings suggestive of pneumonia.|pneumonia|absent
No evidence to suggest metastasis.|metastasis|absent
No sign of appendicitis.|appendicitis|absent
Never had pneumonia.|pneumonia|absent
Resolution of the pleural effusion.|pleural effusion|absent
Resolved pneumothorax.|pneumothorax|absent
Opacity rather than mass.|mass|absent
An infarct instead of hemorrhage.|hemorrhage|absent
Unremarkable for nodule.|nodule|absent
None of the ribs shows a fracture.|fracture|absent
Pneumothorax is not seen.|pneumothorax|absent
A pneumothorax was not identified.|pneumothorax|absent
Pneumothorax not seen.|pneumothorax|absent
Pleural effusion is absent.|pleural effusion|absent
Pleural effusion absent.|pleural effusion|absent
Pneumothorax, effusion and consolidation are absent.|pneumothorax|absent
Pneumothorax, effusion and consolidation are absent.|consolidation|absent
Fracture has been ruled out.|fracture|absent
Pulmonary embolism was excluded.|embolism|absent
Pneumonia is unlikely.|pneumonia|absent
Pneumonia is considered unlikely.|pneumonia|absent
The effusion has resolved.|pleural effusion|absent
The pneumothorax has completely resolved.|pneumothorax|absent
The edema has since cleared.|edema|absent
Pneumothorax: none.|pneumothorax|absent
Pneumothorax: absent.|pneumothorax|absent
Pleural effusion: No.|pleural effusion|absent
Pleural effusion - none|pleural effusion|absent
Fracture: negative|fracture|absent
The previously seen effusion is no longer visible.|pleural effusion|absent
The pneumothorax is no longer present.|pneumothorax|absent
The effusion can no longer be seen.|pleural effusion|absent
The patient no longer has a pneumothorax.|pneumothorax|absent
The image no longer shows consolidation.|consolidation|absent
No fracture or dislocation.|dislocation|absent
No fracture, no dislocation.|dislocation|absent
Without a fracture, a dislocation or a mass.|mass|absent
Without a fracture, a dislocation or a mass.|dislocation|absent
There is no mass, midline shift, or hydrocephalus.|hydrocephalus|absent
No intracranial hemorrhage or mass effect.|mass effect|absent
No acute infarct.|infarct|absent
Kidneys without hydronephrosis or stones.|stone|absent
The gallbladder is normal with no stones.|stone|absent
Heart size is normal.|cardiomegaly|absent
The heart is not enlarged.|cardiomegaly|absent
The cardiac silhouette is within normal limits.|cardiomegaly|absent
Heart is normal in size.|cardiomegaly|absent
Normal cardiac silhouette.|cardiomegaly|absent
No cardiomegaly.|cardiomegaly|absent
Clear of consolidation.|consolidation|absent
No pleural effusion is seen, and the heart is enlarged.|pleural effusion|absent
A fracture cannot be seen.|fracture|absent
There isn't any effusion.|pleural effusion|absent
There aren't any masses.|mass|absent
It is unlikely to represent pneumonia.|pneumonia|absent
The appearance argues against malignancy.|tumor|absent
No new nodule.|nodule|absent
w/o effusion|pleural effusion|absent
Pneumothorax has not been seen.|pneumothorax|absent
Metastases have not been demonstrated.|metastasis|absent
We have not identified a fracture.|fracture|absent
The study has not shown metastases.|metastasis|absent
no evidence\\nof pneumothorax|pneumothorax|absent
Pneumothorax-free lungs.|pneumothorax|absent
There is a small pneumothorax.|pneumothorax|present
Small left pleural effusion.|pleural effusion|present
Moderate cardiomegaly.|cardiomegaly|present
The heart is enlarged.|cardiomegaly|present
The heart is mildly enlarged.|cardiomegaly|present
Findings are consistent with pneumonia.|pneumonia|present
Likely pneumonia.|pneumonia|present
Probable atelectasis.|atelectasis|present
Opacity most likely represents atelectasis.|atelectasis|present
No change in the pleural effusion.|pleural effusion|present
No significant change in the left effusion.|pleural effusion|present
No interval change in the nodule.|nodule|present
No increase in the size of the mass.|mass|present
Without significant interval change of the pneumothorax.|pneumothorax|present
Not only an effusion but also a pneumothorax.|pleural effusion|present
Not only an effusion but also a pneumothorax.|pneumothorax|present
Not just atelectasis.|atelectasis|present
No doubt there is a fracture.|fracture|present
No question of a fracture line here; fracture is seen.|fracture|present
Not without effusion.|pleural effusion|present
The lung is not free of consolidation.|consolidation|present
The examination is not negative for hemorrhage.|hemorrhage|present
Pleural effusion is not absent.|pleural effusion|present
The effusion has not resolved.|pleural effusion|present
The pneumothorax has not yet completely resolved.|pneumothorax|present
The effusion has not changed.|pleural effusion|present
The mass has not increased in size.|mass|present
The effusion is not large.|pleural effusion|present
No effusion, but a small pneumothorax.|pneumothorax|present
No effusion, but a small pneumothorax.|pleural effusion|absent
No consolidation; however, there is atelectasis.|atelectasis|present
No pneumothorax, although an effusion is present.|pleural effusion|present
No abnormality except for a small nodule.|nodule|present
No acute disease apart from mild edema.|edema|present
No fracture; dislocation is seen.|dislocation|present
No fracture. Dislocation of the shoulder.|dislocation|present
No pneumothorax, there is a small effusion.|pleural effusion|present
No pneumothorax is seen and effusion is present.|pleural effusion|present
No pneumothorax, and a small effusion is present.|pleural effusion|present
No pneumothorax, a small effusion is seen.|pleural effusion|present
There is no effusion, whereas the consolidation persists.|consolidation|present
The nodule is no larger than 5 mm.|nodule|present
The mass is no more than 2 cm.|mass|present
CT without contrast shows a mass.|mass|present
No prior study for comparison; effusion on the left.|pleural effusion|present
The effusion is unchanged, pneumothorax is not seen.|pleural effusion|present
The effusion is unchanged, pneumothorax is not seen.|pneumothorax|absent
Small effusion, pneumothorax not seen.|pleural effusion|present
Effusion is present, pneumothorax is absent.|pleural effusion|present
Effusion is present, pneumothorax is absent.|pneumothorax|absent
Known metastases in the liver.|metastasis|present
Resolving pneumonia.|pneumonia|present
Persistent edema without effusion.|edema|present
Persistent edema without effusion.|pleural effusion|absent
Consolidation in the left lower lobe, not seen before.|consolidation|present
Cardiomegaly with no edema.|cardiomegaly|present
Fracture of the tibia, no dislocation.|fracture|present
Multiple gallstones without cholecystitis.|stone|present
Multiple gallstones without cholecystitis.|cholecystitis|absent
The mass shows no calcification.|mass|present
The mass shows no calcification.|calcification|absent
Unchanged nodule.|nodule|present
Positive for fracture.|fracture|present
Yes, pleural effusion on the right.|pleural effusion|present
Pneumonia cannot be excluded.|pneumonia|uncertain
Cannot exclude pneumonia.|pneumonia|uncertain
A fracture can not be ruled out.|fracture|uncertain
We cannot rule out a small pneumothorax.|pneumothorax|uncertain
Pneumonia is not excluded.|pneumonia|uncertain
Pneumonia has not been ruled out.|pneumonia|uncertain
Does not exclude fracture.|fracture|uncertain
Unable to exclude a small effusion.|pleural effusion|uncertain
It is difficult to exclude pneumonia.|pneumonia|uncertain
Possible pneumonia.|pneumonia|uncertain
This may represent pneumonia.|pneumonia|uncertain
Opacity might be atelectasis.|atelectasis|uncertain
Opacity could reflect atelectasis or pneumonia.|pneumonia|uncertain
Suspicious for malignancy.|tumor|uncertain
Concern for pneumothorax.|pneumothorax|uncertain
Suspected fracture.|fracture|uncertain
Suggestive of edema.|edema|uncertain
Questionable nodule.|nodule|uncertain
Rule out pneumonia.|pneumonia|uncertain
Evaluate for pneumothorax.|pneumothorax|uncertain
Pneumonia should be considered.|pneumonia|uncertain
Pneumonia is possible.|pneumonia|uncertain
Pneumothorax?|pneumothorax|uncertain
Is there a fracture?|fracture|uncertain
If there is a fracture, immobilise the limb.|fracture|uncertain
Return if bleeding recurs.|hemorrhage|uncertain
Should pneumothorax develop, place a chest tube.|pneumothorax|uncertain
Risk of hemorrhage.|hemorrhage|uncertain
Atelectasis versus pneumonia.|atelectasis|uncertain
Atelectasis versus pneumonia.|pneumonia|uncertain
Atelectasis vs. pneumonia.|pneumonia|uncertain
The differential includes abscess.|abscess|uncertain
History of pneumonia.|pneumonia|uncertain
Not certain whether there is a fracture.|fracture|uncertain
Not necessarily a mass.|mass|uncertain
Possible pneumonia, no effusion.|pneumonia|uncertain
Possible pneumonia, no effusion.|pleural effusion|absent
No effusion, possible pneumonia.|pneumonia|uncertain
No pneumothorax, but pneumonia cannot be excluded.|pneumothorax|absent
No pneumothorax, and pneumonia cannot be excluded.|pneumonia|uncertain
May not have pneumonia.|pneumonia|uncertain
No focal consolidation to suggest pneumonia.|pneumonia|absent
No focal consolidation to suggest pneumonia.|consolidation|absent
No airspace opacities suspicious for pneumonia.|pneumonia|absent
No effusion, opacity suspicious for pneumonia.|pneumonia|uncertain
An opacity suspicious for pneumonia.|pneumonia|uncertain
An opacity suspicious for pneumonia.|opacity|present
No pleural effusion.Mild degenerative changes of the spine.|degenerative change|present
Resolution of right effusion and infiltrate.|opacity|absent
Old fracture, no acute process.|fracture|present
No pneumothorax, small effusion.|pleural effusion|present
No pneumothorax, small effusion.|pneumothorax|absent
No pneumothorax, large effusion or consolidation.|pleural effusion|absent
The differential includes an abscess, a cyst.|cyst|uncertain
No evidence of consolidation, large pleural effusion/pneumothorax.|pneumothorax|absent
Possible pneumonia, the heart is enlarged.|cardiomegaly|present
Pneumonia is less likely.|pneumonia|uncertain
A mass not previously seen is noted.|mass|present
New opacity not present on the prior exam.|opacity|present
The nodule was not seen previously.|nodule|present
An effusion that had not been seen on the earlier study.|pleural effusion|present
The previously described nodule is not seen.|nodule|absent
Not much change in the effusion.|pleural effusion|present
No lymphadenopathy, 8 mm nodule in the right lung.|nodule|present
No lymphadenopathy, 8 mm nodule in the right lung.|lymphadenopathy|absent
No hydronephrosis, with a small renal stone.|stone|present
No air-space disease.|consolidation|absent
The lymph nodes are not enlarged.|lymphadenopathy|absent
There is nothing to suggest pneumonia.|pneumonia|absent
No focal opacity is seen to suggest pneumonia.|pneumonia|absent
An opacity is seen to suggest pneumonia.|pneumonia|uncertain
Blunting of the angle, which may be due to pleural effusion.|pleural effusion|uncertain
The opacity could be secondary to pneumonia.|pneumonia|uncertain
No comparison available, cardiomegaly and edema are present.|edema|present
The heart size and mediastinal contours are within normal limits.|cardiomegaly|absent
Heart size and pulmonary vascularity appear within normal limits.|cardiomegaly|absent
Cardiac size is normal.|cardiomegaly|absent
Stable enlargement of the cardiac silhouette.|cardiomegaly|present
Without doubt a fracture.|fracture|present
The effusion has not changed, nodule in the left lung.|nodule|present
No more than two nodules.|nodule|present
No prior study, cardiomegaly.|cardiomegaly|present
The pneumonia is gram-negative.|pneumonia|present
A fracture may be present.|fracture|uncertain
Effusion is absent on the left.|pleural effusion|absent
Fracture was excluded by CT.|fracture|absent
Cannot assess for fracture.|fracture|uncertain
Whether old or new, there is a fracture.|fracture|present
No mass, no change in the effusion.|pleural effusion|present
No pneumothorax, pneumonia cannot be excluded, effusion on the left.|pleural effusion|present
Possible pneumonia, pneumothorax not seen, effusion on the left.|pleural effusion|present
No mass, liver has a cyst.|cyst|present
A nodule is seen and effusion is absent.|nodule|present
A mass but effusion is absent.|mass|present
"""

CASES = [tuple(line.replace("\\n", "\n").split("|")) for line in _TABLE.strip().splitlines()]
