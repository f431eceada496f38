"""Checks of a Vulkan device's answers to queries, against the requirements of the specifications."""

from cts.device.queries.answers import Answers as Answers
from cts.device.queries.answers import from_plain as from_plain
from cts.device.queries.answers import read as read
from cts.device.queries.judge import Judged as Judged
from cts.device.queries.judge import State as State
from cts.device.queries.judge import judge as judge
