//! Facts about a type of file system.

/// Known properties of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// True if every change of metadata and every `write(2)` moves the ctime.
    pub trusted_ctime: bool,
    /// True if a store through a mapping also moves the ctime, once the file's dirty pages were written back: that write-protects
    /// them, so the next store faults. False for file systems in memory, which write nothing back. For a layered file system only
    /// the layers know; [`crate::write_back`] asks them file by file.
    pub writes_back: bool,
    /// True if it says rightly where a file has no data. On the others all of a file is read: FUSE file systems without a map of their
    /// files call everything a hole (virtiofs from a Mac's files), and so does APFS what was stored through a mapping and not synced.
    pub shows_holes: bool,
    /// True if it shows several directories as one (overlayfs). An object in a lower layer is copied up when it is changed.
    pub layered: bool,
    /// True if a file whose size is 0 has no content. The kernel makes up the files of `/proc` as they are read, and servers of FUSE and 9p may.
    pub exact_sizes: bool,
}

impl FileSystem {
    /// One of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        trusted_ctime: false,
        writes_back: false,
        shows_holes: false,
        layered: false,
        exact_sizes: true,
    };

    /// Facts about the file system with a number of Linux' `statfs(2)`.
    #[must_use]
    pub fn of(magic: u64) -> Self {
        /// FUSE, 9p, NFS, SMB (three), virtiofs shows FUSE's, AFS, Ceph, vboxsf, FAT, exFAT.
        const UNTRUSTED: [u64; 11] = [
            FUSE,
            PLAN_9,
            0x6969,
            0x517b,
            0xff53_4d42,
            0xfe53_4d42,
            0x5346_414f,
            0x00c3_6400,
            0x786f_4256,
            0x4d44,
            0x2011_bab0,
        ];
        /// File systems that the kernel makes up while they are read: proc, sysfs, debugfs, tracefs, securityfs, configfs, cgroup (two), bpf, pstore,
        /// efivarfs, SELinux, Smack, binfmt_misc, FUSE's connections, message queues, resctrl, the pipes of RPC, nfsd.
        const MADE_UP: [u64; 19] = [
            0x9fa0,
            0x6265_6572,
            0x6462_6720,
            0x7472_6163,
            0x7363_6673,
            0x6265_6570,
            0x0027_e0eb,
            0x6367_7270,
            0xcafe_4a11,
            0x6165_676c,
            0xde5e_81e4,
            0xf97c_ff8c,
            0x4341_5d53,
            0x4249_4e4d,
            0x6573_5543,
            0x1980_0202,
            0x0765_5821,
            0x6759_6969,
            0x6e66_7364,
        ];
        const FUSE: u64 = 0x6573_5546;
        const PLAN_9: u64 = 0x0102_1997;
        const OVERLAY: u64 = 0x794c_7630;
        /// tmpfs (also devtmpfs), ramfs, hugetlbfs.
        const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
        let made_up = MADE_UP.contains(&magic);
        let trusted_ctime = !UNTRUSTED.contains(&magic) && !made_up;
        Self {
            trusted_ctime,
            writes_back: trusted_ctime && !IN_MEMORY.contains(&magic),
            shows_holes: trusted_ctime,
            layered: magic == OVERLAY,
            exact_sizes: !made_up && ![FUSE, PLAN_9].contains(&magic),
        }
    }
}
