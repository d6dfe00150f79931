package BrowserTask::Egress;

# Drives egressd in tests: through t/egress/drive, which stands in for launcher
# and supervisord, and as a browser. Core modules only.
#
#   own_network($script, @addresses)
#       runs the test in a network namespace of its own, with these addresses
#       on its loopback device; returns there. Skips the test where it cannot.
#   my $e = BrowserTask::Egress->new(%opt);
#       program => FILE, default t/egress/hasty; args => [ ... ]
#   $e->say($line)           to drive
#   $e->expect($re, $s)      the first line of drive that matches, else undef
#   $e->setting($name, $value)  a setting of the service; returns when it holds
#   $e->cell($id)            makes a listener, unbound
#   $e->bind($id, $run, %opt)  trust, connections, bytes, allowed, forbidden,
#                            kept, names (hosts with commas);
#                            true when it is bound
#   $e->connect($id)         a socket to its listener, nothing said
#   $e->ask($id, $host, $port, $form)
#       greets and asks on a new socket; returns it with the code of the reply,
#       undef if there was none. form: name (default), 4, 6
#   $e->stop                 returns its wait status
#   exactly($sock, $n, $s)   $n bytes, fewer at the end or when too late
#   site($address, $port)    a listener; port 0: any
#   quiet(@sites)            whether nobody has connected to any of them

use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use IO::Select;
use IO::Socket::IP;
use IPC::Open2 qw(open2);
use Socket qw(inet_pton AF_INET AF_INET6);
use Test::More;
use BrowserTask::Harness;

our @EXPORT = qw(own_network exactly site quiet);

my $build = abs_path($ENV{builddir} // '.');

sub own_network {
	my ($script, @addresses) = @_;

	if (!$ENV{BT_OWN_NETWORK}) {
		my @unshare = ('unshare', '--net',
		    $> == 0 ? () : ('--user', '--map-root-user'));
		plan skip_all => 'no network namespaces here'
		    if system("@unshare true >/dev/null 2>&1") != 0;
		local $ENV{BT_OWN_NETWORK} = 1;
		exec @unshare, $^X, (map { "-I$_" } @INC), $script, @ARGV
		    or die "unshare: $!\n";
	}
	system('ip link set lo up') == 0 or die "ip: $?\n";
	for my $address (@addresses) {
		my $bits = $address =~ /:/ ? '128 nodad' : 32;
		system("ip addr add $address/$bits dev lo") == 0
		    or die "ip: $?\n";
	}
}

sub new {
	my ($class, %opt) = @_;
	my $self = bless { ports => {} }, $class;
	my ($out, $in);

	$self->{drive} = open2($out, $in, "$build/t/egress/drive",
	    $opt{program} // "$build/t/egress/hasty", @{ $opt{args} // [] });
	$in->autoflush;
	@$self{qw(in lines)} = ($in, lines($out));
	($self->{pid}) = $self->expect(qr/^pid (\d+)/) =~ /(\d+)/;
	$self->say('link');
	$self->expect(qr/^linked/);
	return $self;
}

sub say {
	my ($self, $line) = @_;
	print { $self->{in} } "$line\n";
}

sub expect {
	my ($self, $re, $seconds) = @_;

	while (defined(my $line = $self->{lines}->next($seconds // 60))) {
		return $line if $line =~ $re;
	}
	return undef;
}

# egressd answers nothing to a setting. But it reads what its launcher sends in
# order: a listener that was sent after it answers only when it holds. drive gets
# both at once, so that it says nothing in between that a test waits for.
sub setting {
	my ($self, $name, $value) = @_;
	my $after = 1_000_000;

	$self->cell($after, "setting $name $value\n");
	my $sock = $self->connect($after);
	syswrite $sock, "\5\1\0";
	exactly($sock, 2) eq "\5\0" or die "no answer after $name\n";
	$self->say("gone $after");
}

sub cell {
	my ($self, $id, $before) = @_;

	$self->say(($before // '') . "listen $id");
	($self->{ports}{$id}) =
	    $self->expect(qr/^listening $id /) =~ /(\d+)$/;
}

sub bind {
	my ($self, $id, $run, %opt) = @_;

	$self->say("names_of $id $run $opt{names}") if defined $opt{names};
	$self->say(join ' ', 'bind', $id, $run, $opt{trust} // 'remote',
	    $opt{connections} // 256, $opt{bytes} // 1 << 32,
	    $opt{allowed} // '-', $opt{forbidden} // '-',
	    $opt{kept} // '-');
	return $self->expect(qr/^bound $id $run /) =~ / ok$/;
}

sub unbind {
	my ($self, $id, $run) = @_;

	$self->say("unbind $id $run");
	my ($sums) = ($self->expect(qr/^unbound $id $run /) // '')
	    =~ /^unbound \S+ \S+ (.*)/;
	return $sums;
}

sub connect {
	my ($self, $id) = @_;
	return IO::Socket::IP->new(PeerAddr => '127.0.0.1',
	    PeerPort => $self->{ports}{$id}) // die "connect: $!\n";
}

sub request {
	my ($host, $port, $form) = @_;

	$form //= 'name';
	return "\5\1\0" . ($form eq '4' ? "\1" . inet_pton(AF_INET, $host)
	    : $form eq '6' ? "\4" . inet_pton(AF_INET6, $host)
	    : "\3" . pack 'C/a', $host) . pack 'n', $port;
}

sub ask {
	my ($self, $id, $host, $port, $form) = @_;
	my $sock = $self->connect($id);

	syswrite $sock, "\5\1\0";
	return ($sock, undef) if exactly($sock, 2) ne "\5\0";
	syswrite $sock, request($host, $port, $form);
	my $reply = exactly($sock, 10, 60);
	return ($sock, length $reply == 10 ? ord substr $reply, 1, 1 : undef);
}

sub stop {
	my ($self) = @_;

	$self->say('stop');
	return ($self->expect(qr/^ended /) // '') =~ /(\d+)/ ? $1 : undef;
}

sub DESTROY {
	my ($self) = @_;

	local ($?, $!);
	kill 'KILL', $self->{pid}, $self->{drive};
}

sub exactly {
	my ($sock, $n, $seconds) = @_;
	my $select = IO::Select->new($sock);
	my $bytes = '';

	while (length $bytes < $n && $select->can_read($seconds // 60)) {
		sysread $sock, $bytes, $n - length $bytes, length $bytes
		    or last;
	}
	return $bytes;
}

sub site {
	my ($address, $port) = @_;
	return IO::Socket::IP->new(LocalAddr => $address,
	    LocalPort => $port // 0, Listen => 1024, ReuseAddr => 1)
	    // die "$address: $!\n";
}

sub quiet {
	return !IO::Select->new(@_)->can_read(0);
}

1;
