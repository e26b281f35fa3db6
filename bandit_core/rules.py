"""What a policy of your own is written with; docs/tutorial.md shows how. These names are as public as `bandit_core`."""

from bandit_core.jit.decorators import inlined
from bandit_core.kernels.batch_rule import NEVER, BatchRule
from bandit_core.kernels.contextual import Inverses, add_context, greedy_arm, inverses_of, play_users, predicted, row_of
from bandit_core.kernels.play import Rule, around, first, gaussian, laplace, uniform
from bandit_core.model import Bound, Guarantee, Parameters, Policy, Release, any_rewards
from bandit_core.policies.batch_family import pure_policy
from bandit_core.policies.central_family import noisy_sums, pure, unit_rewards
from bandit_core.policies.contextual.family import call as call_with_users
from bandit_core.policies.contextual.family import no_arms, one_model
from bandit_core.policies.local_family import bounded_rewards, local_guarantee, noisy_answers, random_bits
from bandit_core.spec.field_types import Number, Whole
from bandit_core.theory.central import lower_bounds as central_lower_bounds
from bandit_core.theory.classic import trivial_cap
from bandit_core.theory.contextual import nothing_stated
from bandit_core.theory.local import lower_bounds as local_lower_bounds

__all__ = [
    "NEVER", "BatchRule", "Bound", "Guarantee", "Inverses", "Number", "Parameters", "Policy", "Release", "Rule",
    "Whole", "add_context", "any_rewards", "around", "bounded_rewards", "call_with_users", "central_lower_bounds",
    "first", "gaussian", "greedy_arm", "inlined", "inverses_of", "laplace", "local_guarantee",
    "local_lower_bounds", "no_arms", "noisy_answers", "noisy_sums", "nothing_stated", "one_model", "play_users",
    "predicted", "pure", "pure_policy", "random_bits", "row_of", "trivial_cap", "uniform", "unit_rewards",
]  # fmt: skip
