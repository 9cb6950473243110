"""Running a job in a virtual machine of its own: its drives, its guest, the channel to it, and what starts it."""
