#!/usr/bin/perl
# Each message of a worker was bounded, and what all of them add up to was not:
# one run left 20,000 artifacts and as many events behind, wrote all of its steps
# anew with each of them as fast as it could, and had an artifact called like a
# path with an escape sequence. limits.t knew only the bounds of one message.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure);
use Test::More;
use Time::HiRes qw(time);

my $i = BrowserTask::Harness->new(scripted => 1,
	settings => [ 'maxConcurrentRuns=4' ])->start;
my $c = client($i);

sub run_of {
	my (@words) = @_;
	my $s = $c->run('fragile', { do => \@words }, { mode => 'async',
		timeoutMs => 300000 });
	return ended($c, $s->{runId}, 300);
}

sub events {
	my ($run) = @_;
	my ($n, $after) = (0, 0);

	for (;;) {
		my $a = $c->call('run.events', { runId => $run,
			afterSeq => $after });
		my @events = @{ $a->{events} } or return $n;
		$n += @events;
		$after = $a->{lastSeq};
	}
}

# ---- artifacts ----

my $r = run_of('arts:3000');
error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'TEMPLATE_LIMIT',
    'a run with too many artifacts fails');
like($r->{error}{message}, qr/1000 artifacts/, 'the error says how many');
my $rows = $c->call('artifact.list', { runId => $r->{runId} })->{artifacts};
is(scalar @$rows, 1001, 'it has 1000 and its TaskResult');
$r = run_of('mibs:300');
error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'TEMPLATE_LIMIT',
    'so does one whose artifacts are too much');
like($r->{error}{message}, qr/256 MiB/, 'the error says how much');
$rows = $c->call('artifact.list', { runId => $r->{runId} })->{artifacts};
my $bytes = 0;
$bytes += $_->{totalSize} // $_->{size} // 0 for @$rows;
cmp_ok($bytes, '<=', 257 << 20, 'it has no more');

for my $bad ('../../../../tmp/evil', "\e[31mred", '/etc/passwd', '.hidden',
    "two\nlines", 'quo"te', "\x{202e}txt.exe") {
	$r = run_of("name:$bad");
	is(($r->{error}{details} // {})->{cause}, 'WORKER_PROTOCOL',
	    sprintf 'a name is refused: %s', join ' ', map { /[\w.\/]/ ? $_
		: sprintf '\x%x', ord } split //, $bad);
}
for my $bad ('text', 'text/', '/plain', "text/plain\r\nX: y", 'text/ht ml',
    'text/plain; charset', "text/\e[1m") {
	$r = run_of("mime:$bad");
	is(($r->{error}{details} // {})->{cause}, 'WORKER_PROTOCOL',
	    sprintf 'a media type is refused: %s', join ' ', map { /[\w.\/]/
		? $_ : sprintf '\x%x', ord } split //, $bad);
}
$r = run_of('name:Table 2_a-b.tar.gz',
    'mime:text/csv; charset=utf-8; header=present',
    'mime:application/vnd.api+json');
is($r->{status}, 'succeeded', 'ordinary ones are taken') or diag explain $r;

# ---- steps: others are answered as before ----

sub p99 {
	my @took;

	for (1 .. 300) {
		my $was = time;
		$c->call('profile.get');
		push @took, time - $was;
	}
	return quantile(0.99, @took);
}

my $idle = p99();
my @busy = map { $c->run('fragile', { do => [ 'steps:100000' ] },
	{ mode => 'async', timeoutMs => 300000 })->{runId} } 1 .. 2;
wait_until(60, sub { events($busy[0]) > 500 });
my $loaded = p99();
figure('profile.get p99 %.1f ms alone, %.1f ms beside two workers that report'
    . ' steps', 1000 * $idle, 1000 * $loaded);
cmp_ok($loaded, '<', 0.05 + 5 * $idle, 'workers that report without end do '
    . 'not slow down others');
$c->call('run.cancel', { runId => $_ }) for @busy;
my $end = ended($c, $busy[0], 60);
is($end->{status}, 'canceled', 'they can be canceled');
my @meta = map { $_->{meta} } @{ $end->{output}{steps} };
ok((grep { $_->{truncated} } @meta) > 0, 'details beyond 64 KiB are marked');
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
