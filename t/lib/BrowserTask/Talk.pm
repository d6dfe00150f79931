package BrowserTask::Talk;

# A conversation with t/launch/fakesup, which is run in place of supervisord,
# over the admin socket of an instance.
#
#   use BrowserTask::Talk;     exports SESSION and the flags of SPAWN
#
#   my $t = BrowserTask::Talk->new($instance);
#   $t->say($line)             fakesup's header has all lines
#   $t->expect(qr/^.../, $s)   the first line that matches within $s (60)
#                              seconds, or its groups; others are dropped
#   $t->spawn($id, $flags, worker => N, browser => N, profile => NAME)
#   $t->up(...)                the same, and waits for cell and worker
#   $t->version($id)           whether its browser answers

use strict;
use warnings;
use BrowserTask::Harness;
use Exporter qw(import);
use IO::Socket::UNIX;
use Test::More ();
use Time::HiRes;

our @EXPORT = qw(SESSION BROWSER DESCRIBE TEXT FULL KEEP);

# Flags as in launch/launch.h.
use constant { BROWSER => 1, DESCRIBE => 2, TEXT => 4, FULL => 8, KEEP => 16 };
use constant SESSION => '01ARZ3NDEKTSV4RRFFQ69G5FA';

my $sessions = 0;

sub new {
	my ($class, $instance) = @_;
	my $sock = wait_until(60, sub {
		IO::Socket::UNIX->new(Peer => $instance->admin_sock);
	}) or die "connect: $!\n";
	return bless { sock => $sock, lines => lines($sock) }, $class;
}

sub say {
	my ($self, $line) = @_;
	syswrite $self->{sock}, "$line\n";
}

# The first line that matches; others are dropped.
sub expect {
	my ($self, $re, $seconds) = @_;
	my $end = Time::HiRes::time() + ($seconds // 60);
	my @seen;

	while ((my $rest = $end - Time::HiRes::time()) > 0) {
		my $line = $self->{lines}->next($rest) // last;
		return wantarray ? $line =~ $re : $line
		    if $line =~ $re;
		push @seen, $line;
	}
	Test::More::diag("no $re in:\n", map { "  $_\n" } @seen);
	return;
}

sub spawn {
	my ($self, $id, $flags, %opt) = @_;
	$sessions++;
	$self->say(join ' ', 'spawn', $id, $opt{worker} // 0,
	    $opt{browser} // 0, $flags,
	    SESSION . chr(ord('A') + $sessions % 8),
	    $opt{profile} // ());
}

sub up {
	my ($self, $id, $flags, %opt) = @_;
	$self->spawn($id, $flags, %opt);
	my ($kind) = $self->expect(qr/^ready $id (\d)/);
	$self->expect(qr/^worker $id hello/);
	return $kind;
}

sub version {
	my ($self, $id) = @_;
	$self->say("tell $id cdp "
	    . '{"id":1,"method":"Browser.getVersion"}');
	return scalar $self->expect(
	    qr/^worker $id cdp \{"id":1,"result":\{"protocolV/, 60);
}

1;
