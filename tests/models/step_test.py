"""What `differences` lets pass and what it tells."""
import copy
import unittest

import torch

from step import differences, run_step
from task import Task


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16),
                                          torch.nn.Tanh(), torch.nn.Linear(16, 1))

    def forward(self, x):
        y = self.layers(x)
        return (y * y).mean(), y


def three_steps(seed=0):
    """Of the same numbers: one to be changed, eager's, and eager's in float64."""
    torch.manual_seed(seed)
    task = Task(Net(), lambda batch: {"x": torch.randn(batch, 8)}, lambda model, x: model(x))
    tasks = copy.deepcopy(task), copy.deepcopy(task), copy.deepcopy(task).double()
    return [run_step(one, one.inputs(12)) for one in tasks]


def spoil(numbers):
    numbers[numbers.abs().argmax()] *= 1.001


class StepTest(unittest.TestCase):
    def problems_after(self, change):
        mine, eager, precise = three_steps()
        change(mine.values)
        return differences([(mine, eager, precise)])

    def test_eager_equals_itself(self):
        self.assertEqual(self.problems_after(lambda values: None), [])

    def test_a_number_that_is_off_in_the_fourth_place_is_told(self):
        for name in ("loss", "outputs", "gradient of model.layers.0.weight",
                     "model.layers.1.running_var"):
            with self.subTest(name):
                problems = self.problems_after(lambda values: spoil(values[name].view(-1)))
                self.assertEqual(len(problems), 1)
                self.assertIn(name, problems[0])

    def test_nan_is_told(self):
        problems = self.problems_after(lambda values: values["loss"].fill_(torch.nan))
        self.assertEqual(len(problems), 1)

    def test_an_absent_gradient_is_told(self):
        problems = self.problems_after(
            lambda values: values.pop("gradient of model.layers.3.bias"))
        self.assertIn("gradient of model.layers.3.bias", problems[0])

    def test_another_count_of_batches_is_told(self):
        name = "model.layers.1.num_batches_tracked"
        problems = self.problems_after(lambda values: values[name].add_(1))
        self.assertEqual(problems, [f"{name} differs from eager's"])

    def test_what_one_step_has_by_luck_does_not_count_in_several(self):
        name = "loss"
        samples = [three_steps(seed) for seed in range(5)]
        for mine, eager, precise in samples:  # one rounding too many, to either side
            eager.values[name] = precise.values[name].float() * (1 + 3e-7)
            mine.values[name] = precise.values[name].float() * (1 - 3e-7)
        mine, eager, precise = samples[0]
        eager.values[name] = precise.values[name].float()
        mine.values[name] = eager.values[name] * (1 - 8e-7)
        self.assertEqual(len(differences(samples[:1])), 1)
        self.assertEqual(differences(samples), [])

    def test_what_is_off_in_each_of_several_steps_is_told(self):
        samples = [three_steps(seed) for seed in range(5)]
        for mine, _, _ in samples:
            spoil(mine.values["outputs"].view(-1))
        self.assertEqual(len(differences(samples)), 1)


if __name__ == "__main__":
    unittest.main()
