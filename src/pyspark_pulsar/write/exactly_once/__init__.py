"""Exactly-once writing: the protocol of an epoch. A batch job is one epoch. Decisions 0024 and 0029.

Pulsar's END_TXN is not idempotent: for a transaction that has ended, a broker answers the same whether it was
committed, aborted or timed out. Spark runs tasks twice, drivers die, and a restart runs the last epoch again. So what
counts is written down first, in a journal: three topics beside the target.

| topic | who appends | a record says |
|---|---|---|
| `-begun` | tasks | this transaction was begun, by this run, for this epoch, and may have these topic partitions |
| `-decided` | one at a time: a driver, or a new run's first task | the state: whose journal it is, the last epoch, |
| | | which transactions that consists of, and whether all are committed; the last record counts |
| `-ended` | tasks, inside their transactions | a marker: visible if and only if its transaction was committed |

A transaction and what the journal says of it:

| state | in the journal | who ends it |
|---|---|---|
| begun | `-begun`, before its first row | the task when it fails; else whoever decides or takes over next aborts it |
| prepared | the same; every row and its marker have receipts, and the driver was told | the same |
| decided | the last state names it, with `done` false | the driver; else whoever comes next commits it |
| committed | its marker is visible; the last state has `done` true | nobody |

An epoch, step by step, and what happens when the process dies behind a step:

| step | who | behind it |
|---|---|---|
| 1 take over: finish what was decided, abort what others began, append this run | first task of a run | nothing |
| 2 begin a transaction | each task attempt | it has no partition, hides nothing, and times out |
| 3 append to `-begun`, then add the partitions | task | whoever comes next aborts it |
| 4 send the rows and the marker, wait for receipts, tell the driver | task | the same |
| 5 fence `-decided`; abort what is begun and not prepared; see that the prepared are open | driver | the same |
| 6 append the decision | driver | the epoch counts: whoever comes next goes on here |
| 7 commit its transactions | driver | some are committed; whoever comes next commits all again, and asks markers |
| 8 append that all is done | driver | a repeated epoch is dropped |
| or: append that a job is given up, abort what is begun | driver | tasks of the job that begin later abort their own |

No row twice. Only decided transactions are committed, and each epoch is decided once: the state keeps its number, and
deciding is compare and append (`journal`), so two drivers cannot both do it. A decision holds one attempt of each task,
the one whose message Spark kept. In a transaction no message is sent a second time. When Spark runs a decided epoch
again, tasks see its number in the state and send nothing; the rows are compared by their digest (`repeated`).

None lost. A task counts as ended when every row has a receipt. Step 5 finds transactions that have timed out before
they are decided: then the epoch fails as a whole, and Spark runs it again. Behind step 6 somebody always commits: Spark
starts the query again, and its first task begins with step 1. One gap is left that Pulsar does not close: a transaction
that times out between steps 6 and 7. Its marker is missing, and that is an error which names the rows (`RowsLost`), at
every start, until a human has acted.

An answer that was lost in step 7 is asked of `-ended`. Behind an open transaction nothing of a topic is visible, so a
missing marker proves nothing until a fence that was appended later is visible too.

Nobody held up. Rows of a task that was given up may come when its transaction is aborted; `abort` holds why they do no
harm.

A run that was taken over from is fenced for good, and so is a job that was given up: the state lists the last hundred
of them (`ownership`). An error before step 6 means that no row becomes visible; from step 6 on it says that the end is
not known (`outcome`).
"""
