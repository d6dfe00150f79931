# client/: the client side of the control protocol, for programs that people
# and agents start.
noinst_LIBRARIES += client/libclient.a
client_libclient_a_SOURCES = \
	client/client.c \
	client/client.h \
	client/place.c
