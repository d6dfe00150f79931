#!/usr/bin/perl
# A run whose record expired between the list of runs and the question for its
# artifacts made resources/list fail. The service here is played.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Mcp;
use File::Temp qw(tempdir);
use IO::Socket::UNIX;
use JSON::PP ();
use POSIX ();
use Test::More;

my $dir = tempdir(CLEANUP => 1);
my $json = JSON::PP->new->utf8;
my @runs = map { sprintf 'run_%026d', $_ } 1 .. 3;
my %said = (
	hello => sub {
		return BrowserTask::Client::pack_map({ proto => 1,
			version => 'none', trust => 'local',
			admin => $BrowserTask::Client::false });
	},
	'run.list' => sub {
		return BrowserTask::Client::pack_bin($json->encode({
			total => 3, runs => [ map { { runId => $_,
			    templateId => 't', status => 'succeeded' } }
			    @runs ] }));
	},
	'artifact.list' => sub {
		my ($p) = @_;
		return undef if $p->{runId} eq $runs[1];
		return BrowserTask::Client::pack_bin($json->encode({
			runId => $p->{runId}, artifacts => [ {
				artifactId => "art_$p->{runId}", name => 'x',
				kind => 'csv', mimeType => 'text/csv',
				totalSize => 1 } ] }));
	},
);

sub play {
	my ($listen) = @_;
	my $c = $listen->accept;
	my $in = '';

	while (sysread $c, $in, 65536, length $in) {
		while (length $in >= 4
		    && length $in >= 4 + unpack 'N', $in) {
			my $body = substr $in, 4, unpack('N', $in);
			substr $in, 0, 4 + length $body, '';
			my $m = BrowserTask::Client::unpack_value(\$body);
			my $good = $said{ $m->[2] }->($m->[3]);
			my $bad = BrowserTask::Client::pack_bin($json->encode(
				{ errorCode => 'RUN_NOT_FOUND',
				message => 'there is no such run' }));
			my $answer = pack('CCCN', 0x94, 1, 0xce, $m->[1])
			    . ($good ? "\xc0$good" : "$bad\xc0");
			syswrite $c, pack('N', length $answer) . $answer;
		}
	}
}

my $listen = IO::Socket::UNIX->new(Local => "$dir/s", Listen => 1)
    or die "$dir/s: $!\n";
my $pid = fork() // die "fork: $!\n";
if ($pid == 0) {
	play($listen);
	POSIX::_exit(0);
}
my $m = BrowserTask::Mcp->new(args => [ '-s', "$dir/s" ]);
ok($m->init, 'an adapter');
my $a = $m->ask('resources/list', {});
is_deeply([ map { $_->{uri} } @{ $a->{result}{resources} } ], [
	map { ("run://$_", "artifact://art_$_") } @runs[0, 2] ],
    'lists what is still there');
$m->eof;
is($m->wait, 0, 'ends');
waitpid $pid, 0;
done_testing();
