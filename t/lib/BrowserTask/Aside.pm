package BrowserTask::Aside;

# A server of a test, in a process of its own that ends with the test and tells
# what it has seen in lines. Base of others. Core modules only.
#
#   my $self = $class->aside($port, sub ($log) {...})
#       runs the sub there; $log takes lines
#   $self->port       that port
#   $self->seen       the lines since the last call

use strict;
use warnings;
use POSIX ();

my $maker = $$;

sub aside {
	my ($class, $port, $serve) = @_;

	pipe(my $r, my $w) or die "pipe: $!\n";
	my $self = bless { port => $port, log => $r }, $class;
	$self->{pid} = fork() // die "fork: $!\n";
	if ($self->{pid} == 0) {
		$SIG{$_} = 'DEFAULT' for qw(TERM INT HUP);
		$SIG{PIPE} = 'IGNORE';
		close $r;
		$serve->($w);
		POSIX::_exit(0);
	}
	close $w;
	$r->blocking(0);
	return $self;
}

sub port { return $_[0]{port} }

sub seen {
	my ($self) = @_;
	my $text = '';

	1 while sysread $self->{log}, $text, 65536, length $text;
	return split /\n/, $text;
}

sub DESTROY {
	my ($self) = @_;

	return if $$ != $maker;
	local ($?, $!);
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
}

1;
