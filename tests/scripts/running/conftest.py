from .fakes import fakes as fakes
