"""Estimating the hardware that a load needs: the workload, the costs of its parts, and the resulting figures.

    module        contains
    quantity      numbers with units that remember their formulas
    workload      the user's description of topics, messages, time and machines
    costs         the cost of a message, a ledger, a split or a trigger: committed costs, and costs of this machine
    history       the messages of the past, and the work of reading them
    steady        a stream that keeps up: triggers, cores, lag
    driver        the driver: plans, memory, requests, checkpoints
    estimate      all figures of a workload
    calibration   measuring costs on this machine
    own_topic     measuring the messages of a topic

All modules but the last two are arithmetic: no clock, and no I/O except reading the file of committed costs.
"""
