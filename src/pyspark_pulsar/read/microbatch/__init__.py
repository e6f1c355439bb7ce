"""`spark.readStream`: how far each micro-batch goes, and what is watched beside it. Driver only."""
