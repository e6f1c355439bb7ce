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
 * A checkpoint in a local folder. The JVM writes the files itself, without Hadoop's local file system.
 *
 * <p>Without its native library, as in PySpark from PyPI, Hadoop starts several processes (`chmod`,
 * `readlink`) for each file that it writes. These processes need 40 to 60 ms, twice in each micro-batch. This
 * class writes files in another way, but the names and the content of the files are the same. So Hadoop's
 * class can read the files of this class, and this class can read the files of Hadoop's class.
 *
 * <p>Hadoop's checksum file is not written. An existing checksum file belongs to the earlier content, and is
 * deleted before the file is replaced.
 */
final class LocalCheckpointFiles extends FileSystemBasedCheckpointFileManager {
  private static final String LOCAL = "file";
  private static final String LOCAL_CLASS = "fs.file.impl";

  // Spark has two managers. This manager does not check whether a file is a link. Such a check would also
  // start a process.
  private LocalCheckpointFiles(org.apache.hadoop.fs.Path path, Configuration conf) {
    super(path, conf);
  }

  /**
   * Returns this manager for a local folder. Returns Spark's manager for other locations, or if Hadoop is
   * configured to use another class for local files.
   */
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

  /**
   * A stream whose file becomes visible when the stream is closed, with its complete content. The file never
   * becomes visible if the stream is cancelled, or if the JVM ends earlier.
   */
  private static final class Atomic extends CheckpointFileManager.CancellableFSDataOutputStream {
    private final Path target;
    private final Path unfinished;
    private final boolean overwrite;
    private boolean ended;

    Atomic(Path target, boolean overwrite) throws IOException {
      // Spark ignores files whose names begin with a point when it lists the folder.
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
        // Spark expects this exception if another driver has already written this file.
        throw new org.apache.hadoop.fs.FileAlreadyExistsException(target + ": expected no file of this name, got one");
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

    /**
     * Sets the name of the file in one step, or fails if a file with this name exists. Creating a hard link
     * has this effect; moving would replace the existing file.
     */
    private void putIfAbsent() throws IOException {
      try {
        Files.createLink(target, unfinished);
      } catch (FileAlreadyExistsException fault) {
        throw fault;
      } catch (UnsupportedOperationException | FileSystemException fault) {
        // The file system has no hard links. The check and the move are not one step here. Hadoop's class
        // always works in this way.
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
        // The unfinished file may stay, because Spark does not read it.
      }
    }
  }
}
