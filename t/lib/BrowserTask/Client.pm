package BrowserTask::Client;

# A client of the control protocol for tests: MessagePack-RPC in frames, with
# JSON documents inside. Core modules only, independent of the C code.
#
#   my $c = BrowserTask::Client->new($socket_path);    connects, says hello
#     further arguments: raw => 1 (no hello), seconds => 60 (per answer),
#     trust => LEVEL (asked for in hello)
#     label => LABEL (whose sessions it uses)
#   $c->call('run.get', { runId => $id })    the result; an error is a hash
#                        with errorCode. JSON values are given as references
#                        to hashes or arrays, e.g. inputs => { urls => [...] }
#   $c->send('run.submit', {...})  sends only; returns the request's number
#   $c->answer($number)            waits for that answer
#   $c->timed('run.get', {...})    as call; in a list the seconds until the whole
#                        answer was there, and then it: to decode it takes this
#                        client longer than the service
#   $c->event($seconds)            next notification: [ name, params ]
#   $c->run(template, inputs, options)  call('run.submit', ...)
#   $c->bytes($bytes)              sends these bytes as they are
#   $c->closed($seconds)           true when the server closed the connection

use strict;
use warnings;
use IO::Socket::UNIX;
use JSON::PP ();
use Time::HiRes qw(time);

my $json = JSON::PP->new->utf8->canonical->allow_nonref;
our ($true, $false) = (JSON::PP::true, JSON::PP::false);

# MessagePack. Strings are str, a reference to one is bin, digits are an int.

sub pack_str {
	my ($s) = @_;
	my $n = length $s;
	return ($n < 32 ? pack('C', 0xa0 | $n) : $n < 256
	    ? pack('CC', 0xd9, $n) : pack('Cn', 0xda, $n)) . $s;
}

sub pack_bin { return pack('CN', 0xc6, length $_[0]) . $_[0] }

sub pack_int {
	my ($i) = @_;
	return $i >= 0 && $i < 128 ? pack('C', $i)
	    : $i >= 0 ? pack('CQ>', 0xcf, $i) : pack('Cq>', 0xd3, $i);
}

sub pack_value {
	my ($v) = @_;
	return pack('C', $v ? 0xc3 : 0xc2) if JSON::PP::is_bool($v);
	return pack_bin($$v) if ref $v eq 'SCALAR';
	return pack_bin($json->encode($v)) if ref $v;
	return $v =~ /^-?\d+$/ ? pack_int($v) : pack_str($v);
}

sub pack_map {
	my ($map) = @_;
	return join '', pack('C', 0x80 | keys %$map),
	    map { pack_str($_) . pack_value($map->{$_}) } sort keys %$map;
}

sub unpack_value {
	my ($in) = @_;    # reference to the bytes left
	my $take = sub { substr $$in, 0, $_[0], '' };
	my $b = ord $take->(1);

	return $b if $b < 0x80;
	return unpack_map($in, $b & 0x0f) if $b < 0x90;
	return [ map { unpack_value($in) } 1 .. ($b & 0x0f) ] if $b < 0xa0;
	return $take->($b & 0x1f) if $b < 0xc0;
	return $b - 256 if $b >= 0xe0;
	return undef if $b == 0xc0;
	return $b == 0xc3 ? $true : $false if $b == 0xc2 || $b == 0xc3;
	my %length = (0xc4 => 'C', 0xc5 => 'n', 0xc6 => 'N', 0xd9 => 'C',
		0xda => 'n', 0xdb => 'N');
	my %bytes = (C => 1, n => 2, N => 4, 'Q>' => 8, 'c' => 1, 's>' => 2,
		'l>' => 4, 'q>' => 8);
	if (my $f = $length{$b}) {
		return $take->(unpack $f, $take->($bytes{$f}));
	}
	my %int = (0xcc => 'C', 0xcd => 'n', 0xce => 'N', 0xcf => 'Q>',
		0xd0 => 'c', 0xd1 => 's>', 0xd2 => 'l>', 0xd3 => 'q>');
	if (my $f = $int{$b}) {
		return unpack $f, $take->($bytes{$f});
	}
	return unpack_map($in, unpack 'n', $take->(2)) if $b == 0xde;
	die sprintf "msgpack: byte %02x\n", $b;
}

sub unpack_map {
	my ($in, $n) = @_;
	my %map;
	for (1 .. $n) {
		my $key = unpack_value($in);
		$map{$key} = unpack_value($in);
	}
	return \%map;
}

sub new {
	my ($class, $path, %opt) = @_;
	my $sock = IO::Socket::UNIX->new(Peer => $path)
	    or die "$path: $!\n";
	my $self = bless { sock => $sock, in => '', seq => 0, answers => {},
		notes => [], seconds => 60, %opt }, $class;
	$self->{hello} = $self->call('hello', { proto => 1, client => 'test',
		defined $opt{trust} ? (trust => $opt{trust}) : (),
		defined $opt{label} ? (label => $opt{label}) : () })
	    unless $opt{raw};
	return $self;
}

sub bytes {
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	while (length $bytes) {
		my $n = syswrite($self->{sock}, $bytes) // return 0;
		substr $bytes, 0, $n, '';
	}
	return 1;
}

sub send {
	my ($self, $method, $params) = @_;
	my $seq = ++$self->{seq};
	my $body = pack('CCC', 0x94, 0, 0xce) . pack('N', $seq)
	    . pack_str($method) . pack_map($params);
	$self->bytes(pack('N', length $body) . $body)
	    or die "connection is closed\n";
	return $seq;
}

# One message into answers or notes; false when nothing came in time.
sub receive {
	my ($self, $seconds) = @_;
	my $end = time + $seconds;

	while (length $self->{in} < 4
	    || length $self->{in} < 4 + unpack 'N', $self->{in}) {
		my $rest = $end - time;
		my $bits = '';
		return 0 if $rest <= 0 || $self->{eof};
		vec($bits, fileno $self->{sock}, 1) = 1;
		next unless select($bits, undef, undef, $rest);
		my $n = sysread($self->{sock}, $self->{in}, 1 << 20,
		    length $self->{in});
		$self->{eof} = 1 unless $n;
	}
	$self->{came} = time;
	my $length = unpack 'N', substr $self->{in}, 0, 4, '';
	my $body = substr $self->{in}, 0, $length, '';
	my $msg = unpack_value(\$body);
	if ($msg->[0] == 1) {
		my $doc = $msg->[2] // $msg->[3];
		$self->{answers}{ $msg->[1] } =
		    ref $doc ? $doc : $json->decode($doc);
	} else {
		my $p = $msg->[2];
		$p->{event} = $json->decode($p->{event}) if $p->{event};
		push @{ $self->{notes} }, [ $msg->[1], $p ];
	}
	return 1;
}

sub answer {
	my ($self, $seq, $seconds) = @_;
	my $end = time + ($seconds // $self->{seconds});

	while (!exists $self->{answers}{$seq}) {
		my $rest = $end - time;
		die "no answer to request $seq\n"
		    if $rest <= 0 || !$self->receive($rest);
	}
	return delete $self->{answers}{$seq};
}

sub call {
	my ($self, $method, $params) = @_;
	return $self->answer($self->send($method, $params // {}));
}

sub timed {
	my ($self, @call) = @_;
	my $was = time;
	my $answer = $self->call(@call);
	return ($self->{came} - $was, $answer);
}

sub run {
	my ($self, $template, $inputs, $options) = @_;
	my $seq = $self->send('run.submit', { templateId => $template,
		inputs => $inputs, options => $options // {} });

	# The answer may be the end of the run.
	return $self->answer($seq, 3 * $self->{seconds});
}

sub event {
	my ($self, $seconds) = @_;
	my $end = time + ($seconds // 60);

	until (@{ $self->{notes} }) {
		my $rest = $end - time;
		return undef if $rest <= 0 || !$self->receive($rest);
	}
	return shift @{ $self->{notes} };
}

sub closed {
	my ($self, $seconds) = @_;
	my $end = time + ($seconds // 60);

	while (!$self->{eof} && (my $rest = $end - time) > 0) {
		$self->receive($rest);
	}
	return $self->{eof};
}

1;
