"""The workloads of the simulation."""

from __future__ import annotations

from typing import Final

from simulation.case import Workload
from simulation.checkpoint import query as checkpoint_query
from simulation.checkpoint.mutations import MUTATIONS as CHECKPOINT_MUTATIONS
from simulation.sink import query as sink_query
from simulation.sink.mutations import MUTATIONS as SINK_MUTATIONS
from simulation.stream import query as stream_query
from simulation.stream.mutations import MUTATIONS as STREAM_MUTATIONS

SINK: Final = Workload("sink", sink_query.random_case, sink_query.SinkRun, SINK_MUTATIONS)
CHECKPOINT: Final = Workload(
    "checkpoint", checkpoint_query.random_case, checkpoint_query.CheckpointRun, CHECKPOINT_MUTATIONS
)
STREAM: Final = Workload("stream", stream_query.random_case, stream_query.StreamRun, STREAM_MUTATIONS)
WORKLOADS: Final = {workload.name: workload for workload in (SINK, CHECKPOINT, STREAM)}
