"""How much hardware a load needs: what goes in, what things cost, and the figures that follow.

    module        has
    quantity      numbers with units that remember how they were made
    workload      what a user says of topics, messages, time and machines
    costs         what a message, a ledger, a split or a trigger costs; committed ones, and those of this machine
    history       what lies in the past, and the work of reading it
    steady        a stream that keeps up: triggers, cores, lag
    driver        the driver: plans, memory, requests, checkpoints
    estimate      all figures of a workload
    calibration   measures costs on this machine

All but `calibration` is arithmetic: no I/O but the file of committed costs, no clock.
"""
