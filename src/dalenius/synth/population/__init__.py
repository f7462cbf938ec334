"""Populations of households from a survey, calibration to known margins, and samples drawn back."""

from dalenius.synth.population.calibration import calibrate
from dalenius.synth.population.population import HouseholdPopulation
from dalenius.synth.population.sampling import draw_sample
from dalenius.synth.population.survey import SurveySpec

__all__ = ["HouseholdPopulation", "SurveySpec", "calibrate", "draw_sample"]
