import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.contract.AbstractContractCreateTest;
import org.apache.hadoop.fs.contract.AbstractContractDeleteTest;
import org.apache.hadoop.fs.contract.AbstractContractGetFileStatusTest;
import org.apache.hadoop.fs.contract.AbstractContractMkdirTest;
import org.apache.hadoop.fs.contract.AbstractContractOpenTest;
import org.apache.hadoop.fs.contract.AbstractContractSeekTest;
import org.apache.hadoop.fs.contract.AbstractFSContract;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * Hadoop's contract of a file system, for checkpoints in Pulsar: what it claims, and where the tests may write.
 *
 * <p>System properties: `service.url`, `python` and `checkpoint`, a path that is taken over first.
 */
public final class CheckpointContract extends AbstractFSContract {
  private static final String[] SUPPORTED = {
    "is-case-sensitive", "rejects-seek-past-eof", "supports-atomic-directory-delete", "supports-atomic-rename",
    "supports-getfilestatus", "supports-seek", "supports-seek-on-closed-file", "supports-strict-exceptions",
    "supports-available-on-closed-file", "create-visibility-delayed"
  };
  private static final String[] UNSUPPORTED = {
    "create-overwrites-directory", "is-blobstore", "supports-append", "supports-block-locality", "supports-concat",
    "supports-hflush", "supports-hsync", "supports-settimes", "supports-unix-permissions"
  };

  public CheckpointContract(Configuration conf) {
    super(conf);
    conf.set("fs.pulsar+checkpoint.impl", "org.pysparkpulsar.checkpoint.CheckpointFileSystem");
    conf.set("fs.pulsar+checkpoint.owner", "contract");
    conf.set("spark.sql.streaming.checkpointFileManagerClass", "org.pysparkpulsar.checkpoint.PulsarCheckpointFileManager");
    conf.set("spark.sql.catalog.pulsar.service.url", System.getProperty("service.url"));
    conf.set("spark.sql.catalog.pulsar.python", System.getProperty("python"));
    for (String feature : SUPPORTED) {
      conf.setBoolean("fs.contract." + feature, true);
    }
    for (String feature : UNSUPPORTED) {
      conf.setBoolean("fs.contract." + feature, false);
    }
  }

  @Override
  public void init() throws IOException {
    CheckpointFileManager.create(new Path(System.getProperty("checkpoint")), getConf()).createCheckpointDirectory();
  }

  @Override
  public FileSystem getTestFileSystem() throws IOException {
    return getTestPath().getFileSystem(getConf());
  }

  @Override
  public String getScheme() {
    return "pulsar+checkpoint";
  }

  @Override
  public Path getTestPath() {
    return new Path(System.getProperty("checkpoint"), "test");
  }

  public static final class Create extends AbstractContractCreateTest {
    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new CheckpointContract(conf);
    }
  }

  public static final class Open extends AbstractContractOpenTest {
    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new CheckpointContract(conf);
    }
  }

  public static final class Seek extends AbstractContractSeekTest {
    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new CheckpointContract(conf);
    }
  }

  public static final class Delete extends AbstractContractDeleteTest {
    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new CheckpointContract(conf);
    }
  }

  public static final class Mkdir extends AbstractContractMkdirTest {
    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new CheckpointContract(conf);
    }
  }

  public static final class Status extends AbstractContractGetFileStatusTest {
    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new CheckpointContract(conf);
    }
  }
}
