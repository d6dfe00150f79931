#!/usr/bin/perl
# search_extract and paginated_extract were executed again after a crash of the
# service, though they had sent a form or clicked: the page's server had a second
# POST. Now a run is executed again only if it changed nothing yet. The launcher
# is killed after the first submit or click of every built-in template; clicks.t
# did not see it, since its template is not restart-safe. The real browser.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use IO::Socket::INET;
use POSIX ();
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $dir = tempdir('bt-effect-XXXXXX', TMPDIR => 1, CLEANUP => 1);

# ---- the site: a POST is counted and gets no answer ----

my %pages = (
	search => '<form method=post action="/did?search">'
	    . '<input type=search name=q></form>',
	late => '<form method=post action="/did?late">'
	    . '<input type=search name=q></form>',
	list => '<ul><li>one</ul><button onclick="'
	    . "fetch('/did?list', {method: 'POST'})\">Next page</button>",
	login => '<form method=post action="/did?login"><label>User name'
	    . '<input name=user autocomplete=username></label>'
	    . '<label>Password<input type=password name=pw></label>'
	    . '<button>Sign in</button></form>',
	form => '<form method=post action="/did?form"><label>Email'
	    . '<input name=email></label><button>Send</button></form>',
);

sub note_request {
	my ($line) = @_;

	open(my $fh, '>>', "$dir/log") or return;
	syswrite $fh, "$line\n";
}

sub answer {
	my ($c) = @_;
	my $head = '';

	while ($head !~ /\r\n\r\n/) {
		sysread($c, $head, 65536, length $head) or return;
	}
	my ($method, $path) = $head =~ m{^(\w+) /(\S*) } or return;
	note_request("$method $path");
	# Until the other side is gone.
	if (($method eq 'POST' && $path ne 'did?late')
	    || ($path =~ /^(?:late|held)/ && -e "$dir/hold")) {
		1 while sysread($c, my $rest, 65536);
		return;
	}
	my $body = '<!DOCTYPE html><title>t</title>'
	    . ($pages{$path} // "<h1>Page $path</h1><p>Text.</p>");
	syswrite $c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    . 'Content-Length: ' . length($body)
	    . "\r\nConnection: close\r\n\r\n$body";
}

sub serve {
	my ($listen) = @_;

	local $SIG{CHLD} = 'IGNORE';
	local $SIG{PIPE} = 'IGNORE';
	while (my $c = $listen->accept) {
		my $pid = fork() // next;
		next if $pid;
		answer($c);
		POSIX::_exit(0);
	}
}

my $listen = IO::Socket::INET->new(Listen => 64, LocalAddr => '127.0.0.1')
    or die "listen: $!\n";
my $base = 'http://127.0.0.1:' . $listen->sockport;
my $site = fork() // die "fork: $!\n";
if ($site == 0) {
	serve($listen);
	POSIX::_exit(0);
}
close $listen;

# request => how often it came.
sub came {
	my %n;

	open(my $fh, '<', "$dir/log") or return;
	while (my $line = <$fh>) {
		chomp $line;
		$n{$line}++;
	}
	return %n;
}

# ---- what each template is to do until it is killed ----

my %cases = (
	search_extract => [ 'POST did?search', { startUrl => "$base/search",
		query => 'harbour' } ],
	paginated_extract => [ 'POST did?list', { startUrl => "$base/list" } ],
	login_keep_session => [ 'POST did?login', {
		startUrl => "$base/login",
		credentials => { username => 'mary-jane',
		    password => 'correct-horse' } } ],
	submit_and_verify => [ 'POST did?form', { startUrl => "$base/form",
		fields => [ { name => 'email', value => 'a@example.com' } ] } ],
	# These change nothing, so they go on.
	batch_extract_pages => [ 'GET held1', {
		urls => [ "$base/a", "$base/held1" ] } ],
	multi_tab_compare => [ 'GET held2', {
		urls => [ "$base/b", "$base/held2" ] } ],
);
my @late = ('search_extract', { startUrl => "$base/late", query => 'quay' });

sub hold {
	open(my $fh, '>', "$dir/hold") or die "$dir/hold: $!\n";
}

my $i = BrowserTask::Harness->new(settings => [ 'maxConcurrentRuns=7' ])
    ->start;
my $c = client($i);
is_deeply([ sort map { $_->{id} } @{ $c->call('template.list')->{templates} } ],
    [ sort keys %cases ], 'every built-in template is tried');

hold();
my %run = map { $_ => $c->run($_, $cases{$_}[1],
	{ mode => 'async', timeoutMs => 300000 })->{runId} } sort keys %cases;
my $late = $c->run(@late, { mode => 'async', timeoutMs => 300000 })->{runId};
my @awaited = ('GET late', map { $_->[0] } values %cases);
ok(wait_until(120, sub { my %n = came(); !grep { !$n{$_} } @awaited }),
    'each has done what changes something, or reads a page that hangs')
    or diag $i->log, explain { came() };
kill 'KILL', $i->{pid};
$i->wait;
is(left(60, $site), '', 'the launcher is killed and all is gone');
unlink "$dir/hold" or die "$dir/hold: $!\n";
$i->start;
$c = client($i);

my %end = map { $_ => ended($c, $run{$_}) } sort keys %run;
my $end = ended($c, $late);
my %n = came();
for my $t (sort grep { $cases{$_}[0] =~ /^POST/ } keys %cases) {
	my $r = $end{$t};
	is($n{ $cases{$t}[0] }, 1, "$t: what it sent came once");
	is("$r->{status} $r->{attempt}", 'failed 1', "$t: it is not tried again");
	error_is($r->{error}, 'EXECUTION_ERROR', 'OUTCOME_UNKNOWN',
	    "$t: the error says that something may have happened");
	ok(!$r->{error}{retryable}, "$t: nothing invites to try it again");
}
for my $t (qw(batch_extract_pages multi_tab_compare)) {
	is("$end{$t}{status} $end{$t}{attempt}", 'succeeded 2',
	    "$t only reads and goes on");
}
is("$end->{status} $end->{attempt}", 'succeeded 2',
    'a search that had typed nothing yet is begun again') or diag $i->log;
is($n{'POST did?late'}, 1, 'and sends its query once');
is($i->stop, 0, 'it stops');
is(left(60, $site), '', 'nothing is left');
kill 'KILL', $site;
waitpid $site, 0;
done_testing();
