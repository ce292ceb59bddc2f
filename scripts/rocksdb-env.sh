# Sourced: looks for the system's RocksDB, which the feature iogauge-db/rocksdb is built against.
#
# Afterwards "${rocksdb_features[@]}" is what cargo needs to build it in: nothing where it is not there.
# Without these variables the crate builds a RocksDB of its own, for ten minutes or more.
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
