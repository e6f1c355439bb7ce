"""The simulated Pulsar: brokers, topics and transaction coordinators, after the code of Pulsar 4.0.8."""
