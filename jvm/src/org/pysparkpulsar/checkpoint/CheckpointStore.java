package org.pysparkpulsar.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.security.AccessControlException;
import org.pysparkpulsar.process.Answer;
import org.pysparkpulsar.process.Refusal;

/**
 * The calls of {@link CheckpointProcess}, with Hadoop's types and exceptions.
 *
 * <p>Paths must be qualified. Before an application can change a checkpoint, it must take over the
 * checkpoint.
 */
final class CheckpointStore {
  /** The maximum size of the body of one call, in bytes. */
  static final int PIECE = 1 << 20;
  /** The block size in bytes that Hadoop's tools use to split files. Files are not stored in blocks. */
  private static final long BLOCK = 32L << 20;

  private final CheckpointProcess process;
  private final String owner;

  CheckpointStore(Configuration conf) {
    process = CheckpointSettings.process(conf);
    owner = CheckpointSettings.owner(conf);
  }

  /**
   * Takes over the checkpoint, and creates it if it does not exist. Later changes of other applications have no
   * effect.
   */
  void takeOver(Path path) throws IOException {
    call("take_over", changing(path), path);
  }

  FileStatus status(Path path) throws IOException {
    return status(path, call("status", of(path), path).result());
  }

  FileStatus[] list(Path path) throws IOException {
    JsonNode found = call("list", of(path), path).result();
    FileStatus[] statuses = new FileStatus[found.size()];
    for (int i = 0; i < statuses.length; i++) {
      statuses[i] = status(new Path(path, found.get(i).get("name").asText()), found.get(i));
    }
    return statuses;
  }

  void mkdirs(Path path) throws IOException {
    call("mkdirs", changing(path), path);
  }

  boolean delete(Path path, boolean recursive) throws IOException {
    return call("delete", changing(path).put("recursive", recursive), path).result().asBoolean();
  }

  void rename(Path source, Path target) throws IOException {
    ObjectNode arguments = CheckpointProcess.arguments().put("source", source.toString()).put("target", target.toString());
    call("rename", arguments.put("owner", owner).put("overwrite", false), source);
  }

  /** Writes a whole file of at most {@link #PIECE} bytes. */
  void put(Path path, boolean overwrite, byte[] content, int length) throws IOException {
    call("put", changing(path).put("mode", mode(overwrite)), content, length, path);
  }

  long beginUpload(Path path, boolean overwrite) throws IOException {
    return call("upload_begin", changing(path).put("mode", mode(overwrite)), path).result().get("upload").asLong();
  }

  void upload(Path path, long upload, byte[] piece, int length) throws IOException {
    call("upload_write", CheckpointProcess.arguments().put("upload", upload), piece, length, path);
  }

  void commitUpload(Path path, long upload) throws IOException {
    call("upload_commit", CheckpointProcess.arguments().put("upload", upload), path);
  }

  void abortUpload(Path path, long upload) throws IOException {
    call("upload_abort", CheckpointProcess.arguments().put("upload", upload), path);
  }

  /**
   * Returns the file in its current version. The body contains all bytes of a short file, and is empty for a
   * longer file.
   */
  Answer open(Path path) throws IOException {
    try {
      return call("open", of(path), path);
    } catch (FileAlreadyExistsException isDirectory) {
      throw new FileNotFoundException(isDirectory.getMessage());
    }
  }

  /**
   * Returns exactly `length` bytes, at most {@link #PIECE}, from `offset` on. `file` is the name in the
   * answer to {@link #open}.
   */
  byte[] read(Path path, String file, long offset, int length) throws IOException {
    byte[] bytes = call("read", of(path).put("file", file).put("offset", offset).put("length", length), path).body();
    if (bytes.length != length) {
      throw new IOException(
          "checkpoint file " + path + ": expected " + length + " bytes at offset " + offset + ", got " + bytes.length);
    }
    return bytes;
  }

  private Answer call(String call, ObjectNode arguments, Path path) throws IOException {
    return call(call, arguments, new byte[0], 0, path);
  }

  private Answer call(String call, ObjectNode arguments, byte[] body, int length, Path path) throws IOException {
    try {
      return process.call(call, arguments, body, length);
    } catch (Refusal refusal) {
      throw raised(refusal, path);
    }
  }

  private static IOException raised(Refusal refusal, Path path) {
    String message = refusal.getMessage();
    return switch (refusal.kind()) {
      case "NotFound" -> new FileNotFoundException(message);
      case "Exists", "IsDirectory" -> new FileAlreadyExistsException(message);
      case "NotDirectory" -> new ParentNotDirectoryException(message);
      case "NotEmpty" -> new PathIsNotEmptyDirectoryException(path.toString());
      case "Denied" -> new AccessControlException(message);
      case "TakenOver" -> new TakenOverException(message);
      default -> new IOException(message);
    };
  }

  private static ObjectNode of(Path path) {
    return CheckpointProcess.arguments().put("path", path.toString());
  }

  private ObjectNode changing(Path path) {
    return of(path).put("owner", owner);
  }

  private static String mode(boolean overwrite) {
    return overwrite ? "overwrite" : "if_absent";
  }

  private static FileStatus status(Path path, JsonNode found) {
    boolean isFile = found.get("file").asBoolean();
    long modified = found.path("modified").asLong();
    return new FileStatus(isFile ? found.path("length").asLong() : 0, !isFile, 1, isFile ? BLOCK : 0, modified, path);
  }

  static FileStatus directory(Path path) {
    return new FileStatus(0, true, 1, 0, 0, path);
  }

  static long block() {
    return BLOCK;
  }
}
