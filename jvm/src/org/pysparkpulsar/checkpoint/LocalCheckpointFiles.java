package org.pysparkpulsar.checkpoint;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * A checkpoint in a folder of this machine, written by the JVM's own calls.
 *
 * <p>Hadoop starts a process (`chmod`, `readlink`) several times for each file that it writes where its native library
 * is not there, as with PySpark from PyPI: 40 to 60 ms, twice in each micro-batch. Only writing is different here: the
 * names of files are the same, and either way reads what the other has written. Hadoop's checksum file beside each file
 * is not written; one that is there is of former content, and goes before the file is replaced.
 */
final class LocalCheckpointFiles extends FileSystemBasedCheckpointFileManager {
  private static final String LOCAL = "file";
  private static final String LOCAL_CLASS = "fs.file.impl";

  // Of Spark's two managers, the one that does not ask whether a file is a link: that would be a process, too.
  private LocalCheckpointFiles(org.apache.hadoop.fs.Path path, Configuration conf) {
    super(path, conf);
  }

  /** Spark's own where the checkpoint is elsewhere, or where Hadoop was told to use another class for local files. */
  static CheckpointFileManager orSparks(org.apache.hadoop.fs.Path path, Configuration conf) throws IOException {
    boolean isLocal = LOCAL.equals(path.getFileSystem(conf).getUri().getScheme()) && conf.get(LOCAL_CLASS) == null;
    return isLocal ? new LocalCheckpointFiles(path, conf) : CheckpointFileManager.create(path, conf);
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(org.apache.hadoop.fs.Path path, boolean overwriteIfPossible) {
    try {
      return new Atomic(Path.of(path.toUri().getPath()), overwriteIfPossible);
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  /** There as a whole when it is closed; never when it is cancelled or the JVM ends before. */
  private static final class Atomic extends CheckpointFileManager.CancellableFSDataOutputStream {
    private final Path target;
    private final Path unfinished;
    private final boolean overwrite;
    private boolean ended;

    Atomic(Path target, boolean overwrite) throws IOException {
      // Spark leaves out what begins with a point when it looks for its files.
      this(target, target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + ".tmp"), overwrite);
    }

    private Atomic(Path target, Path unfinished, boolean overwrite) throws IOException {
      super(opened(unfinished));
      this.target = target;
      this.unfinished = unfinished;
      this.overwrite = overwrite;
    }

    private static OutputStream opened(Path unfinished) throws IOException {
      Files.createDirectories(unfinished.getParent());
      return new BufferedOutputStream(Files.newOutputStream(unfinished, StandardOpenOption.CREATE_NEW));
    }

    @Override
    public synchronized void close() throws IOException {
      if (ended) {
        return;
      }
      ended = true;
      try {
        super.close();
        if (overwrite) {
          replace();
        } else {
          putIfAbsent();
        }
      } catch (FileAlreadyExistsException fault) {
        // What Spark looks for: another driver has written this file.
        throw new org.apache.hadoop.fs.FileAlreadyExistsException(target + " is there already");
      } finally {
        Files.deleteIfExists(unfinished);
      }
    }

    private void replace() throws IOException {
      Files.deleteIfExists(target.resolveSibling("." + target.getFileName() + ".crc"));
      try {
        Files.move(unfinished, target, StandardCopyOption.ATOMIC_MOVE);
      } catch (AtomicMoveNotSupportedException fault) {
        Files.move(unfinished, target, StandardCopyOption.REPLACE_EXISTING);
      }
    }

    /** A second name fails where there is one already, in one step; moving would replace it. */
    private void putIfAbsent() throws IOException {
      try {
        Files.createLink(target, unfinished);
      } catch (FileAlreadyExistsException fault) {
        throw fault;
      } catch (UnsupportedOperationException | FileSystemException fault) {
        // A file system without second names; as Hadoop does it everywhere, this is not one step.
        Files.move(unfinished, target);
      }
    }

    @Override
    public synchronized void cancel() {
      if (ended) {
        return;
      }
      ended = true;
      try {
        try {
          super.close();
        } finally {
          Files.deleteIfExists(unfinished);
        }
      } catch (IOException fault) {
        // It is not the file that Spark reads, so that it may stay.
      }
    }
  }
}
