package BrowserTask::Gate;

# A site whose pages are answered when the test lets them through, by their
# numbers; each leads to a page of another site. Core modules only.
#
#   my $gate = BrowserTask::Gate->new(sub ($n) {...})
#       the sub returns the address that page $n leads to
#   $gate->url($n, $name)   page $n; any name
#   $gate->pass($n)         lets through page 1 to $n of each name
#   $gate->asked            path => number of requests so far
#
# It ends with the test.

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use parent 'BrowserTask::Aside';

sub new {
	my ($class, $leads) = @_;
	my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
		Listen => 64) or die "gate: $!\n";

	pipe(my $orders, my $order) or die "pipe: $!\n";
	my $self = $class->aside($listen->sockport,
	    sub { serve($listen, $orders, $leads, $_[0]) });
	$self->{order} = $order;
	return $self;
}

sub url {
	my ($self, $n, $name) = @_;
	return "http://127.0.0.1:$self->{port}/$n/$name";
}

sub pass {
	my ($self, $n) = @_;
	syswrite $self->{order}, pack('N', $n) or die "gate: $!\n";
}

# A page 0 is never held: when it is answered, all that came before is known.
sub asked {
	my ($self) = @_;
	my $last = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
		PeerPort => $self->{port}) or die "gate: $!\n";

	syswrite $last, "GET /0/ HTTP/1.1\r\n\r\n";
	sysread $last, my $answer, 4096 or die "gate: no answer\n";
	$self->{asked}{$_}++ for grep { $_ ne '/0/' } $self->seen;
	return %{ $self->{asked} // {} };
}

sub serve {
	my ($listen, $orders, $leads, $log) = @_;
	my $select = IO::Select->new($listen, $orders);
	my ($pass, %text, %held) = (0);

	while (1) {
		for my $fh ($select->can_read) {
			if ($fh == $orders) {
				sysread $orders, my $n, 4;
				$pass = unpack 'N', $n;
			} elsif ($fh == $listen) {
				my $client = $listen->accept or next;
				$select->add($client);
				$text{$client} = '';
			} elsif (!sysread $fh, $text{$fh}, 65536,
			    length $text{$fh}) {
				$select->remove($fh);
				delete $_->{$fh} for \%text, \%held;
				close $fh;
			} elsif ($text{$fh} =~
			    s{^GET (/(\d+)/\S*) .*?\r\n\r\n}{}s) {
				syswrite $log, "$1\n";
				$held{$fh} = [ $fh, $2 ];
			}
		}
		for my $key (grep { $held{$_}[1] <= $pass } keys %held) {
			my ($fh, $n) = @{ delete $held{$key} };
			syswrite $fh, "HTTP/1.1 302 Found\r\nLocation: "
			    . $leads->($n) . "\r\nContent-Length: 0\r\n\r\n";
		}
	}
}

1;
