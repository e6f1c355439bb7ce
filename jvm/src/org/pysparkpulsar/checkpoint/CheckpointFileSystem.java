package org.pysparkpulsar.checkpoint;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A file system whose files are checkpoints in Pulsar: `pulsar+checkpoint://tenant/namespace/name/path`.
 *
 * <p>The class only passes calls on to the Python package (`pyspark_pulsar.checkpoint`). That package writes
 * a log for each checkpoint, and the order of the log determines which change is valid. A file becomes
 * visible when it is closed, with its complete content. A listing shows all files that any process closed
 * before the listing. A file does not change while it is read.
 *
 * <p>`append`, `truncate`, `concat`, `hflush` and `hsync` are refused. Files have no permissions, links or
 * attributes.
 */
public final class CheckpointFileSystem extends FileSystem {
  /** The number of path elements of a checkpoint, `/namespace/name`. The tenant is the authority of the URI. */
  private static final int DEPTH_OF_CHECKPOINT = 2;

  private URI uri;
  private Path workingDirectory;
  private CheckpointStore store;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    setConf(conf);
    if (name.getAuthority() == null) {
      throw new IllegalArgumentException(
          "checkpoint location: expected " + CheckpointSettings.SCHEME + "://tenant/namespace/name, got " + name);
    }
    uri = URI.create(name.getScheme() + "://" + name.getAuthority());
    workingDirectory = new Path(uri.toString(), "/");
    store = new CheckpointStore(conf);
  }

  @Override
  public String getScheme() {
    return CheckpointSettings.SCHEME;
  }

  @Override
  public URI getUri() {
    return uri;
  }

  /** Takes over the checkpoint, on the driver. Later changes of other applications have no effect. */
  void takeOver(Path path) throws IOException {
    Path absolute = absolute(path);
    checkInCheckpoint(absolute, "take over");
    store.takeOver(absolute);
  }

  /**
   * Returns a stream for a new file. If the file exists when the stream is closed, the file is replaced, or
   * `close` fails if `overwrite` is false.
   */
  CheckpointOutputStream written(Path path, boolean overwrite) {
    Path absolute = absolute(path);
    checkInCheckpoint(absolute, "create");
    return new CheckpointOutputStream(store, absolute, overwrite);
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    Path absolute = absolute(path);
    return isInCheckpoint(absolute) ? store.status(absolute) : CheckpointStore.directory(absolute);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    Path absolute = absolute(path);
    if (!isInCheckpoint(absolute)) {
      throw new UnsupportedOperationException(
          absolute + ": expected a path in a checkpoint, " + uri + "/namespace/name, got a path above checkpoints; "
              + "list the topics of the namespace with the Pulsar catalog");
    }
    try {
      return store.list(absolute);
    } catch (ParentNotDirectoryException isFile) {
      return new FileStatus[] {store.status(absolute)};
    }
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    Path absolute = absolute(path);
    if (!isInCheckpoint(absolute)) {
      throw new FileNotFoundException(absolute + ": expected a file, got a directory");
    }
    return new FSDataInputStream(new CheckpointInputStream(store, absolute));
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress)
      throws IOException {
    Path absolute = absolute(path);
    checkInCheckpoint(absolute, "create");
    FileStatus present = found(absolute);
    if (present != null && (present.isDirectory() || !overwrite)) {
      throw new FileAlreadyExistsException(
          absolute + ": expected no " + (present.isDirectory() ? "directory" : "file") + " of this name, got one");
    }
    return new FSDataOutputStream(new CheckpointOutputStream(store, absolute, overwrite), statistics);
  }

  @Override
  public FSDataOutputStream createNonRecursive(
      Path path,
      FsPermission permission,
      EnumSet<CreateFlag> flags,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress)
      throws IOException {
    Path parent = absolute(path).getParent();
    if (parent != null && !getFileStatus(parent).isDirectory()) {
      throw new ParentNotDirectoryException(parent + ": expected a directory, got a file");
    }
    boolean overwrite = flags.contains(CreateFlag.OVERWRITE);
    return create(path, permission, overwrite, bufferSize, replication, blockSize, progress);
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) {
    throw new UnsupportedOperationException(
        absolute(path) + ": expected no append, because files of a checkpoint never change after they are closed; "
            + "write a new file");
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) throws IOException {
    Path absolute = absolute(path);
    if (!isInCheckpoint(absolute)) {
      return true;
    }
    FileStatus present = found(absolute);
    if (present != null && !present.isDirectory()) {
      throw new FileAlreadyExistsException(absolute + ": expected no file of this name, got one");
    }
    if (present == null) {
      store.mkdirs(absolute);
    }
    return true;
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    Path absolute = absolute(path);
    checkInCheckpoint(absolute, "delete");
    return store.delete(absolute, recursive);
  }

  /**
   * Renames a file or directory within a checkpoint. If the target is an existing directory, the source is
   * moved into this directory, as in Hadoop. Returns false on failure.
   */
  @Override
  public boolean rename(Path source, Path target) throws IOException {
    Path from = absolute(source);
    Path to = absolute(target);
    checkInCheckpoint(from, "rename");
    checkInCheckpoint(to, "rename");
    FileStatus moved = found(from);
    if (moved == null || isBelow(to, from)) {
      return false;
    }
    if (from.equals(to)) {
      return moved.isFile();
    }
    FileStatus present = found(to);
    if (present != null && present.isDirectory()) {
      to = new Path(to, from.getName());
      present = found(to);
    }
    FileStatus parent = found(to.getParent());
    if (present != null || parent == null || parent.isFile()) {
      return false;
    }
    store.rename(from, to);
    return true;
  }

  @Override
  public long getDefaultBlockSize(Path path) {
    return CheckpointStore.block();
  }

  @Override
  public short getDefaultReplication(Path path) {
    return 1;
  }

  @Override
  public void setWorkingDirectory(Path path) {
    workingDirectory = absolute(path);
  }

  @Override
  public Path getWorkingDirectory() {
    return workingDirectory;
  }

  private FileStatus found(Path absolute) throws IOException {
    try {
      return getFileStatus(absolute);
    } catch (FileNotFoundException missing) {
      return null;
    }
  }

  private Path absolute(Path path) {
    return makeQualified(path);
  }

  private static boolean isBelow(Path path, Path directory) {
    return path.toString().startsWith(directory + Path.SEPARATOR);
  }

  private static boolean isInCheckpoint(Path absolute) {
    return absolute.depth() >= DEPTH_OF_CHECKPOINT;
  }

  private static void checkInCheckpoint(Path absolute, String call) {
    if (!isInCheckpoint(absolute)) {
      throw new IllegalArgumentException(
          absolute + ", " + call + ": expected " + CheckpointSettings.SCHEME + "://tenant/namespace/name, got a path "
              + "without the namespace or the name; name the checkpoint");
    }
  }
}
