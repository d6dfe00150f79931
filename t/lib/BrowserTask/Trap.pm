package BrowserTask::Trap;

# A web server for pages that try to get out: answers on one port, with the
# pages it is given, and listens on others, where nothing may ever arrive. On
# all addresses of the network namespace. Core modules only.
#
#   my $trap = BrowserTask::Trap->new(sub ($path, $query) {...}, @forbidden)
#     the sub returns [ type, body, header, ... ], or undef for 404; a header
#     "Status: 302 Found" is the status, "Hold: SECONDS" puts the answer off
#   $trap->port        where it answers
#   $trap->taken       what has arrived since the last call: hash of
#                      { allowed => { PATH => N }, forbidden => [ TEXT, ... ] }
#
# It ends with the test.

use strict;
use warnings;
use IO::Select;
use IO::Socket::IP;
use Time::HiRes qw(time);
use parent 'BrowserTask::Aside';

sub listener {
	my ($type, $address, $port) = @_;
	return IO::Socket::IP->new(LocalHost => $address, LocalPort => $port,
		Type => $type, $type == Socket::SOCK_STREAM()
		? (Listen => 256) : (), ReuseAddr => 1, V6Only => 1)
	    || die "$address port $port: $@\n";
}

sub new {
	my ($class, $pages, @forbidden) = @_;
	my @http = listener(Socket::SOCK_STREAM(), '0.0.0.0', 0);
	my $port = $http[0]->sockport;
	push @http, listener(Socket::SOCK_STREAM(), '::', $port);
	my @trap;
	for my $p (@forbidden) {
		for my $type (Socket::SOCK_STREAM(), Socket::SOCK_DGRAM()) {
			push @trap, listener($type, $_, $p) for '0.0.0.0', '::';
		}
	}
	return $class->aside($port,
	    sub { serve($pages, \@http, \@trap, $_[0]) });
}

sub taken {
	my ($self) = @_;
	my %taken = (allowed => {}, forbidden => []);

	for ($self->seen) {
		my ($what, $rest) = split / /, $_, 2;
		if ($what eq 'allowed') {
			$taken{allowed}{$rest}++;
		} else {
			push @{ $taken{forbidden} }, $rest;
		}
	}
	return \%taken;
}

sub serve {
	my ($pages, $http, $trap, $log) = @_;
	my $select = IO::Select->new(@$http, @$trap);
	my %is_http = map { $_ => 1 } @$http;
	my %is_trap = map { $_ => 1 } @$trap;
	my (%text, @held);

	while (1) {
		my ($next) = sort { $a <=> $b } map { $_->[0] } @held;
		my $wait = defined $next ? $next - time : undef;
		for my $fh ($select->can_read(defined $wait && $wait < 0 ? 0
			: $wait)) {
			if ($is_trap{$fh}) {
				caught($fh, $log);
			} elsif ($is_http{$fh}) {
				my $client = $fh->accept or next;
				$select->add($client);
				$text{$client} = '';
			} elsif (!sysread $fh, $text{$fh}, 65536,
			    length $text{$fh}) {
				delete $text{$fh};
				$select->remove($fh);
				close $fh;
			} else {
				push @held, grep { $_ } request($fh, \$text{$fh},
					$pages, $log);
			}
		}
		my $now = time;
		syswrite $_->[1], $_->[2] for grep { $_->[0] <= $now } @held;
		@held = grep { $_->[0] > $now } @held;
	}
}

# Anything at all.
sub caught {
	my ($fh, $log) = @_;
	my $bytes = '';
	my $to = $fh->sockport;

	if ($fh->socktype == Socket::SOCK_DGRAM()) {
		recv $fh, $bytes, 2048, 0;
		syswrite $log, "forbidden udp $to\n";
		return;
	}
	my $client = $fh->accept or return;
	$to = $client->sockhost . ':' . $to;
	my $select = IO::Select->new($client);
	sysread $client, $bytes, 2048 if $select->can_read(0.2);
	$bytes =~ s/[\r\n].*//s;
	$bytes =~ s/[^ -~]/?/g;
	syswrite $log, "forbidden $to $bytes\n";
	close $client;
}

sub request {
	my ($fh, $text, $pages, $log) = @_;
	my @held;

	while ($$text =~ s/\A(\S+) (\S+) HTTP[^\n]*\n(.*?)\r?\n\r?\n//s) {
		my ($path, $query) = split /\?/, $2, 2;
		my $length = $3 =~ /^content-length: *(\d+)/mi ? $1 : 0;
		substr($$text, 0, $length) = '';
		syswrite $log, "allowed $path\n";
		my $page = $pages->($path, $query // '')
		    // [ 'text/plain', 'no such page',
			'Status: 404 Not Found' ];
		my ($type, $body, @headers) = @$page;
		my ($status) = map { /^Status: (.*)/ ? $1 : () } @headers;
		my ($hold) = map { /^Hold: (.*)/ ? $1 : () } @headers;
		my $answer = join("\r\n", 'HTTP/1.1 ' . ($status // '200 OK'),
			"Content-Type: $type",
			'Content-Length: ' . length $body,
			'Access-Control-Allow-Origin: *',
			'Cache-Control: no-store',
			(grep { !/^(?:Status|Hold):/ } @headers), '', $body);
		if ($hold) {
			push @held, [ time + $hold, $fh, $answer ];
		} else {
			syswrite $fh, $answer;
		}
	}
	return @held;
}

1;
