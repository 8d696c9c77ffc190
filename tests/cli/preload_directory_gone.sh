mkdir gone &&
	cd gone &&
	rmdir ../gone &&
	LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD $BUILD/victims/leak_two
