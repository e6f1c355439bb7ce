"""Exactly-once writing: the protocol of an epoch. A batch job is one epoch. See decisions 0024 and 0029.

Pulsar's END_TXN is not idempotent. For a transaction that has ended, a broker returns the same answer after a commit,
an abort and a timeout. Spark runs tasks twice, drivers die, and a restart runs the last epoch again. So every relevant
fact is first written to a journal, which consists of three topics next to the target.

    topic      writers                          meaning of a record
    -begun     tasks                            this run began this transaction for this epoch; the transaction may
                                                have these topic partitions
    -decided   one at a time: a driver, or the  the state: the owner of the journal, the last epoch, the transactions of
               first task of a new run          that epoch, and whether all are committed; the last record is valid
    -ended     tasks, inside their              a marker: visible if and only if its transaction was committed
               transactions

The states of a transaction, as the journal shows them:

    state      in the journal                             who ends it
    begun      `-begun`, before its first row             the task if it fails; otherwise the next one that decides or
                                                          takes over aborts it
    prepared   the same; every row and its marker have    the same
               receipts, and the driver has the task's
               message
    decided    the last state names it, with `done`       the driver; otherwise the next process that opens the journal
               false                                      commits it
    committed  its marker is visible; the last state has  no one
               `done` true

The steps of an epoch, and the consequence if the process dies after a step:

    step                                                 who             after a crash
    1 take over: finish what was decided, abort what     first task of   nothing
      others began, append this run                      a run
    2 begin a transaction                                each task       it has no partition, hides no message, and
                                                         attempt         times out
    3 append to `-begun`, then add the partitions        task            the next process aborts it
    4 send the rows and the marker, wait for receipts,   task            the same
      send the task's message to the driver
    5 fence `-decided`; abort transactions that are      driver          the same
      begun and not prepared; check that the prepared
      ones are open
    6 append the decision                                driver          the epoch counts: the next process continues
                                                                         here
    7 commit its transactions                            driver          some are committed; the next process commits
                                                                         all again, and reads the markers
    8 append that all is done                            driver          a repeated epoch is dropped
      or: append that a job is given up, and abort what  driver          tasks of the job that begin later abort their
      is begun                                                           own transactions

No row is written twice. Only decided transactions are committed, and each epoch is decided once. The state contains the
epoch's number, and deciding is compare and append (`journal`), so two drivers cannot both do it. A decision contains
one attempt of each task, the attempt whose message Spark kept. In a transaction, no message is sent a second time. When
Spark runs a decided epoch again, tasks see its number in the state and send nothing. The digests of the rows are
compared (`repeated`).

No row is lost. A task has ended only when every row has a receipt. Step 5 finds transactions that have timed out before
they are decided. Then the epoch fails as a whole, and Spark runs it again. After step 6, some process always commits:
Spark starts the query again, and its first task begins with step 1. One gap remains, which Pulsar does not close: a
transaction that times out between steps 6 and 7. Its marker is missing. That is an error that identifies the rows
(`RowsLost`) at every start, until a person has repaired the topic.

If an answer was lost in step 7, the markers in `-ended` replace it. No message of a topic is visible after the first
message of an open transaction. So a missing marker proves nothing until a fence that was appended later is visible.

No reader waits without end. Rows of an abandoned task may arrive after its transaction was aborted. The module
`abort` explains why they do no harm.

A run is fenced permanently when another run has taken over, and so is a job that was given up. The state lists the last
hundred of them (`ownership`). An error before step 6 means that no row becomes visible. From step 6 on, an error means
that the outcome is unknown (`outcome`).
"""
