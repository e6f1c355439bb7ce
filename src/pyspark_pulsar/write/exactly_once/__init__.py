"""The protocol of an exactly-once epoch. A batch job is one epoch. See decisions 0024 and 0029.

Pulsar's END_TXN is not idempotent. If a transaction has ended, the broker's answer does not show whether the cause was
a commit, an abort or a timeout. Spark may run a task twice, a driver may die, and a restart runs the last epoch again.
So the sink first writes every relevant fact to a journal. The journal consists of three topics next to the target.

    topic      writers                          meaning of a record
    -begun     tasks                            a run began a transaction for an epoch, with the topic partitions that
                                                the transaction may contain
    -decided   one at a time: a driver, or the  the state: the owner of the journal, the last epoch, the transactions of
               first task of a new run          that epoch, and whether all are committed; the last record is valid
    -ended     tasks, inside their              a marker: visible if and only if its transaction was committed
               transactions

The states of a transaction, as the journal shows them:

    state      in the journal                             who ends the transaction
    begun      in `-begun`, before the first row          the task, if the task fails; otherwise the next process that
                                                          decides or takes over aborts the transaction
    prepared   in `-begun`; all rows and the marker have  the driver, which decides; otherwise the next process that
               receipts, and the driver has the task's    decides or takes over aborts the transaction
               message
    decided    in the last state, with `done` false       the driver; otherwise the next process that opens the journal
                                                          commits the transaction
    committed  the marker is visible; the last state has  no process: the transaction has ended
               `done` true

The steps of an epoch, and the consequence if the process dies after a step:

    step                                                 who             after a crash
    1 take over: commit decided transactions, abort      first task of   nothing
      transactions of other runs, append the new run     a run
    2 begin a transaction                                each task       the transaction has no partition, blocks no
                                                         attempt         reader, and times out
    3 append the transaction to `-begun`, then add       task            the next process aborts the transaction
      its partitions
    4 send the rows and the marker, wait for receipts,   task            the next process aborts the transaction
      send the task's message to the driver
    5 fence `-decided`; abort transactions that are      driver          the next process aborts the transaction
      begun and not prepared; check that the prepared
      transactions are open
    6 append the decision                                driver          the epoch is decided: the next process
                                                                         continues with step 7
    7 commit the transactions of the epoch               driver          some are committed; the next process commits
                                                                         all again, and reads the markers
    8 append that all transactions are committed; for a  driver          a repeated epoch is dropped; tasks of the job
      job that was given up, append this fact and abort                  that begin later abort their own transactions
      the begun transactions of the job

No row is written twice. Only decided transactions are committed, and each epoch is decided once. The state contains the
epoch's number. A decision is a compare-and-append (`journal`), so two drivers cannot decide the same epoch. A decision
contains one attempt of each task: the attempt whose message the driver received in `commit`. In a transaction, no
message is sent a second time. When Spark runs a decided epoch again, its tasks find the epoch's number in the state and
send nothing. For a repeated epoch, the driver compares the digests of the rows (`repeated`).

No row is lost. A task ends when every row has a receipt. Step 5 finds transactions that have timed out. Then the whole
epoch fails, and Spark runs the epoch again. After step 6, a process always commits, because the first task after a
restart of the query begins with step 1. One gap remains: a transaction may time out between steps 6 and 7, and Pulsar
cannot prevent this timeout. The marker of this transaction is missing. Every start then raises the error `RowsLost`,
which identifies the rows, until an operator has repaired the topic.

If the broker's answer was lost in step 7, the markers in `-ended` show the outcome. In a topic, no message after the
first message of an open transaction is visible. So a marker may exist although readers do not see it. To find out, a
process appends a fence record to `-ended`. If the fence is visible and the marker is not, the marker does not exist.

No reader waits forever. Rows of an abandoned task may arrive after its transaction was aborted. The module `abort`
explains why these rows do not block readers.

A run is fenced permanently when another run has taken over. A job that was given up is fenced permanently too. The
state lists the last 100 fenced runs and jobs (`ownership`). An error before step 6 means that no row becomes visible.
From step 6 on, an error means that the outcome is unknown (`outcome`).
"""
