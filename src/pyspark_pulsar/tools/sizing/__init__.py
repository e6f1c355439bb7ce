"""An estimate of the hardware that a workload needs, from the costs of messages, ledgers, splits and triggers.

    module        contains
    quantity      numbers with units that remember their formulas
    workload      the user's description of topics, messages, time and machines
    costs         the cost of a message, a ledger, a split or a trigger: committed costs, and costs of this machine
    history       the messages of the past, and the work of reading them
    steady_stream a stream that keeps up: triggers, cores, lag
    driver        the driver: plans, memory, requests, checkpoints
    estimate      all figures of a workload
    calibration   measurement of costs on this machine
    own_topic     measurement of the messages of a topic

The last two modules measure. All other modules only compute: they use no clock, and read only the file of costs that is
part of this package.
"""
