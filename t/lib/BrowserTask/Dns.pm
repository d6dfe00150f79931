package BrowserTask::Dns;

# A name server for tests, as wrong as a test wants it. Core modules only.
#
#   my $dns = BrowserTask::Dns->new('127.0.0.1', { NAME => ANSWER, ... }, $port);
#     of a free port, if that is left out
#     ANSWER   a list of answers, one per time that the name is asked for by
#              that family, the last of them for all times after:
#              [ ADDRESS, ... ]   addresses of any family, the others are none
#              'nxdomain' | 'servfail' | 'refused' | 'silent' | 'garbage'
#              { cname => [ NAME, ... ], to => [ ADDRESS, ... ] }
#              { huge => N, to => [ ADDRESS, ... ] }   N times these, by TCP
#     What has no name here is 'nxdomain'.
#   $dns->port        of UDP and TCP
#   $dns->asked       the names that it was asked for, in their order
#
# It ends with the test.

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Socket qw(inet_pton AF_INET AF_INET6);
use parent 'BrowserTask::Aside';

sub new {
	my ($class, $address, $zone, $port) = @_;
	my ($udp, $tcp);

	for (1 .. 20) {
		$tcp = IO::Socket::INET->new(LocalAddr => $address,
		    LocalPort => $port // 0, Listen => 64,
		    ReuseAddr => 1) or die "name server: $!\n";
		$udp = IO::Socket::INET->new(LocalAddr => $address,
		    LocalPort => $tcp->sockport, Proto => 'udp') and last;
	}
	return $class->aside($udp->sockport,
	    sub { serve($udp, $tcp, $zone, $_[0]) });
}

sub asked { return $_[0]->seen }

sub serve {
	my ($udp, $tcp, $zone, $log) = @_;
	my $select = IO::Select->new($udp, $tcp);
	my %times;

	while (my @ready = $select->can_read) {
		for my $sock (@ready) {
			my $query;
			if ($sock == $tcp) {
				my $client = $tcp->accept or next;
				$select->add($client);
			} elsif ($sock == $udp) {
				my $peer = recv $udp, $query, 4096, 0;
				next unless defined $peer;
				my $answer = answer($query, $zone, \%times,
				    $log, 0);
				send $udp, $answer, 0, $peer
				    if defined $answer;
			} else {
				unless (sysread $sock, $query, 65536) {
					$select->remove($sock);
					close $sock;
					next;
				}
				# Several may come at once.
				while (length $query > 2) {
					my $one = unpack 'n/a', $query;
					substr($query, 0, 2 + length $one) = '';
					my $answer = answer($one, $zone,
					    \%times, $log, 1);
					syswrite $sock, pack 'n/a', $answer
					    if defined $answer;
				}
			}
		}
	}
}

sub name_bytes {
	my ($name) = @_;
	return join('', map { pack 'C/a', $_ } split /\./, $name) . "\0";
}

sub records {
	my ($name, $type, @addresses) = @_;
	my @records;

	for my $address (@addresses) {
		my $v6 = $address =~ /:/;
		next if $v6 != ($type == 28);
		my $bytes = inet_pton($v6 ? AF_INET6 : AF_INET, $address);
		push @records, name_bytes($name)
		    . pack('n n N n/a', $type, 1, 60, $bytes);
	}
	return @records;
}

sub answer {
	my ($query, $zone, $times, $log, $by_tcp) = @_;
	my ($id) = unpack 'n', $query;
	my ($at, @labels) = (12);

	while (my $n = ord substr $query, $at, 1) {
		push @labels, substr $query, $at + 1, $n;
		$at += $n + 1;
	}
	my $name = lc join '.', @labels;
	my $type = unpack 'n', substr $query, $at + 1, 2;
	my $question = substr $query, 12, $at + 5 - 12;
	my $answers = $zone->{$name} // ['nxdomain'];
	my $n = $times->{"$name $type"}++;
	my $a = $answers->[ $n < @$answers ? $n : -1 ];
	my ($code, $flags, @records) = (0, 0);

	syswrite $log, "$name\n" unless $by_tcp;
	if (ref $a eq 'HASH' && $a->{cname}) {
		my $from = $name;
		for my $to (@{ $a->{cname} }) {
			push @records, name_bytes($from)
			    . pack('n n N n/a', 5, 1, 60, name_bytes($to));
			$from = $to;
		}
		push @records, records($from, $type, @{ $a->{to} });
	} elsif (ref $a eq 'HASH') {
		$times->{"$name $type"}-- unless $by_tcp;
		$flags = 0x0200 unless $by_tcp;
		@records = records($name, $type, (@{ $a->{to} }) x $a->{huge})
		    if $by_tcp;
	} elsif (ref $a) {
		@records = records($name, $type, @$a);
	} elsif ($a eq 'silent') {
		return undef;
	} elsif ($a eq 'garbage') {
		return pack('n n', $id, 0x8180) . "\xff" x 300;
	} else {
		$code = { servfail => 2, nxdomain => 3, refused => 5 }->{$a};
	}
	return pack('n6', $id, 0x8180 | $flags | $code, 1, scalar @records, 0,
	    0) . $question . join '', @records;
}

1;
