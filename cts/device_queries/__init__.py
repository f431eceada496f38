"""What a Vulkan device says of itself, held against the sentences of the specifications about it."""

from cts.device_queries.answers import Answers as Answers
from cts.device_queries.answers import from_plain as from_plain
from cts.device_queries.answers import read as read
from cts.device_queries.judge import Judged as Judged
from cts.device_queries.judge import State as State
from cts.device_queries.judge import judge as judge
