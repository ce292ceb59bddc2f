# To be sourced: looks for the system's RocksDB, against which the feature iogauge-db/rocksdb is built.
#
# Sets rocksdb_features to the arguments with which cargo builds RocksDB in, or to nothing if there is none.
# Without the variables exported here, the crate would build RocksDB itself, which takes ten minutes or more.
rocksdb_features=()
if [[ -z ${ROCKSDB_LIB_DIR:-} && -e /usr/include/rocksdb/c.h ]]; then
    for rocksdb_library in /usr/lib/*-linux-gnu/librocksdb.so /usr/lib64/librocksdb.so /usr/lib/librocksdb.so; do
        if [[ -e $rocksdb_library ]]; then
            export ROCKSDB_LIB_DIR=${rocksdb_library%/*} ROCKSDB_INCLUDE_DIR=/usr/include
            break
        fi
    done
    unset rocksdb_library
fi
if [[ -n ${ROCKSDB_LIB_DIR:-} ]]; then
    rocksdb_features=(--features iogauge-db/rocksdb)
fi
