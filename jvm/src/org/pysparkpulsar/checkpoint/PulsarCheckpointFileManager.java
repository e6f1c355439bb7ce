package org.pysparkpulsar.checkpoint;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * The manager of a streaming query's checkpoint files, for `spark.sql.streaming.checkpointFileManagerClass`.
 *
 * <p>The setting applies to all checkpoints of a session, so for any other scheme, the manager is the one
 * that Spark would choose. {@link LocalCheckpointFiles} writes to local folders.
 *
 * <p>Only the driver calls {@link #createCheckpointDirectory}, when a query starts. The call takes over the
 * checkpoint. A query that only reads the checkpoint, such as a query of the source `statestore`, does not
 * take over the checkpoint.
 */
public final class PulsarCheckpointFileManager implements CheckpointFileManager {
  private static final String CLASS_SETTING = "spark.sql.streaming.checkpointFileManagerClass";

  private final CheckpointFileManager files;

  /** The constructor that Spark calls. */
  public PulsarCheckpointFileManager(Path path, Configuration conf) throws IOException {
    if (CheckpointSettings.SCHEME.equals(path.toUri().getScheme())) {
      files = new InPulsar(path, conf);
    } else {
      Configuration others = new Configuration(conf);
      others.unset(CLASS_SETTING);
      others.unset(CLASS_SETTING.replaceFirst("spark\\.", ""));
      files = LocalCheckpointFiles.orSparks(path, others);
    }
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwriteIfPossible) {
    return files.createAtomic(path, overwriteIfPossible);
  }

  @Override
  public FSDataInputStream open(Path path) {
    return files.open(path);
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    return files.list(path, filter);
  }

  @Override
  public FileStatus[] list(Path path) {
    return files.list(path);
  }

  @Override
  public void mkdirs(Path path) {
    files.mkdirs(path);
  }

  @Override
  public boolean exists(Path path) {
    return files.exists(path);
  }

  @Override
  public void delete(Path path) {
    files.delete(path);
  }

  @Override
  public boolean isLocal() {
    return files.isLocal();
  }

  @Override
  public Path createCheckpointDirectory() {
    return files.createCheckpointDirectory();
  }

  /**
   * The manager for checkpoints in Pulsar. Spark's interface declares no exceptions, but Spark expects
   * Hadoop's exceptions. So Hadoop's exceptions are thrown unchanged.
   */
  private static final class InPulsar implements CheckpointFileManager {
    private final Path path;
    private final CheckpointFileSystem fileSystem = new CheckpointFileSystem();

    InPulsar(Path path, Configuration conf) throws IOException {
      this.path = path;
      fileSystem.initialize(path.toUri(), conf);
    }

    @Override
    public CancellableFSDataOutputStream createAtomic(Path file, boolean overwriteIfPossible) {
      return new Atomic(fileSystem.written(file, overwriteIfPossible));
    }

    @Override
    public FSDataInputStream open(Path file) {
      return asIs(() -> fileSystem.open(file));
    }

    @Override
    public FileStatus[] list(Path directory, PathFilter filter) {
      return asIs(() -> fileSystem.listStatus(directory, filter));
    }

    @Override
    public FileStatus[] list(Path directory) {
      return asIs(() -> fileSystem.listStatus(directory));
    }

    @Override
    public void mkdirs(Path directory) {
      asIs(() -> fileSystem.mkdirs(directory));
    }

    @Override
    public boolean exists(Path file) {
      return asIs(() -> fileSystem.exists(file));
    }

    @Override
    public void delete(Path file) {
      asIs(() -> fileSystem.delete(file, true));
    }

    @Override
    public boolean isLocal() {
      return false;
    }

    @Override
    public Path createCheckpointDirectory() {
      return asIs(
          () -> {
            fileSystem.takeOver(path);
            fileSystem.mkdirs(path);
            return fileSystem.makeQualified(path);
          });
    }
  }

  /**
   * A stream whose complete file becomes visible when the stream is closed. The file never becomes visible if
   * the stream is cancelled.
   */
  private static final class Atomic extends CheckpointFileManager.CancellableFSDataOutputStream {
    private final CheckpointOutputStream written;

    Atomic(CheckpointOutputStream written) {
      super(written);
      this.written = written;
    }

    @Override
    public void cancel() {
      asIs(
          () -> {
            written.abort();
            return null;
          });
    }
  }

  private interface Action<T> {
    T run() throws IOException;
  }

  private static <T> T asIs(Action<T> action) {
    try {
      return action.run();
    } catch (IOException fault) {
      throw PulsarCheckpointFileManager.<RuntimeException>raised(fault);
    }
  }

  @SuppressWarnings("unchecked")
  private static <E extends Exception> E raised(Exception fault) throws E {
    throw (E) fault;
  }
}
