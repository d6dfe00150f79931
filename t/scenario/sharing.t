#!/usr/bin/perl
# Nobody shares anything by accident: clients that work at the same time on the
# same site see their own cookies, storage and tabs only, whatever dialogs and
# downloads the others' pages make; and a lock that a browser left in its profile
# does not keep the next one out. Real programs, real browser.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use IO::Socket::INET;
use POSIX ();
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $clients = sized('clients at once', 5, 20);
my $relaunches = sized('relaunches over a stale lock', 10, 100);

# Says who is signed in, and whom the page hears of in other tabs of its
# browser. Some pages are a nuisance.
my $script = <<'EOS';
<p id="heard"></p><script>
const me = document.cookie.match(/who=(\w+)/)[1], heard = new Set();
const radio = new BroadcastChannel("all");
radio.onmessage = (e) => { heard.add(e.data);
    document.getElementById("heard").textContent = [...heard].join(" "); };
setInterval(() => radio.postMessage(me), 20);
</script>
EOS
my %nuisance = (
	'/alerts' => '<script>for (let i = 0; i < 5; i++) alert("mine " + i);'
	    . '</script>',
	'/leave' => '<script>onbeforeunload = () => "stay";</script>',
	'/download' => '<a id="a" download="x" href="data:text/plain,x">x</a>'
	    . '<script>document.getElementById("a").click();</script>',
	'/popup' => '<script>window.open("/who");</script>',
);

my $listen = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1')
    or die "listen: $!\n";
my $base = 'http://127.0.0.1:' . $listen->sockport;
my $server = fork() // die "fork: $!\n";
serve() if $server == 0;

# Each connection has its process: a browser opens some that it does not use.
sub serve {
	$SIG{CHLD} = 'IGNORE';
	while (my $peer = $listen->accept) {
		next if fork();
		alarm 60;
		my $head = '';
		while ($head !~ /\r\n\r\n/) {
			sysread($peer, $head, 8192, length $head) or last;
		}
		my ($path) = $head =~ m{^GET ([^ ?]+)};
		my ($who) = $head =~ /^Cookie: .*\bwho=(\w+)/mi;
		answer($peer, $path, $who) if defined $path;
		POSIX::_exit(0);
	}
	POSIX::_exit(0);
}

sub answer {
	my ($peer, $path, $who) = @_;
	my $cookie = $path =~ m{^/in/(\w+)} ? "Set-Cookie: who=$1; Path=/\r\n"
	    . "Set-Cookie: long$1=1; Path=/; Max-Age=100000\r\n" : '';
	$who = $1 if $path =~ m{^/in/(\w+)};
	my $text = '<!doctype html><title>x</title><p>you are '
	    . ($who // 'nobody') . '.</p>' . ($nuisance{$path} // '')
	    . (defined $who ? $script : '');
	print $peer "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    . "Connection: close\r\n${cookie}Content-Length: "
	    . length($text) . "\r\n\r\n$text";
	close $peer;
}

my $i = BrowserTask::Harness->new(programs => {
	workerd => "$build/t/scenario/keepworker" }, settings => [
	"maxConcurrentRuns=$clients", "maxLivingSessions=$clients",
	'sessionIdleMs=600000' ])->start;
my @c = map { client($i) } 1 .. $clients;

# All submit, then all wait: the Run objects.
sub all_run {
	my ($template, $inputs, @sessions) = @_;
	my @seq = map { $c[$_]->send('run.submit', {
		templateId => $template, inputs => $inputs->($_),
		options => { mode => 'async' },
		@sessions ? (sessionId => $sessions[$_]) : () }) } 0 .. $#c;
	my @runs = map { $c[$_]->answer($seq[$_])->{runId} } 0 .. $#c;
	return map { ended($c[$_], $runs[$_], 120) } 0 .. $#c;
}

sub urls { return [ map { "$base$_" } @_ ] }

my @odd = sort keys %nuisance;
my @r = all_run(keeper => sub {
	return { urls => urls("/in/c$_[0]", '/who', $odd[ $_[0] % @odd ],
		'/who'), store => "word$_[0]" };
});
my @sessions = map { $_->{sessionId} } @r;
is((grep { $_->{status} eq 'succeeded' } @r), $clients,
	"$clients clients at once")
    or diag explain [ map { $_->{error} } @r ];
my %seen = map { $_ => 1 } @sessions;
is(keys %seen, $clients, 'each has a session of its own');

# Each sees what is its own: text, storage, tab, nobody else.
sub only_own {
	my ($r, $n, @at) = @_;
	my @wrong;
	for my $said (@{ $r->{result}{said} }[@at]) {
		my @named = $said->{text} =~ /\bc(\d+)\b/g;
		push @wrong, $said if !@named || grep({ $_ != $n } @named)
		    || ($said->{stored} // '') ne "word$n"
		    || ($said->{kept} // '') ne "word$n";
	}
	return @wrong;
}

my @wrong = map { only_own($r[$_], $_, 1 .. 3) } 0 .. $#r;
is(@wrong, 0, 'each sees what is its own') or diag explain \@wrong;
@r = all_run(visitor => sub {
	return { urls => urls('/who', $odd[ ($_[0] + 1) % @odd ],
		'/who') };
}, @sessions);
@wrong = map { only_own($r[$_], $_, 0 .. 2) } 0 .. $#r;
is(@wrong, 0, 'and again, in the session it has kept')
    or diag explain \@wrong;

# A session that another run uses is lent to one at a time.
my @two = map { $c[$_]->call('run.submit', { templateId => 'visitor',
	sessionId => $sessions[0], inputs => { urls => urls('/who') },
	options => { mode => 'async' } })->{runId} } 0, -1;
my @turns = map { ended($c[0], $_, 120) } @two;
@wrong = map { only_own($_, 0, 0) } @turns;
is(@wrong, 0, 'two runs in one session') or diag explain \@wrong;
cmp_ok($turns[0]{endedAt}, '<=', $turns[1]{startedAt}, 'take turns');

# Many of them: browsers that wait for their next run make room.
@r = all_run(visitor => sub { return { urls => urls('/who') } });
is_deeply([ map { $_->{result}{said}[0]{text} } @r ],
	[ ('you are nobody.') x $clients ], 'nothing of it is in new sessions');

sub browser {
	my ($p) = grep { $_->{state} ne 'Z' && $_->{cmd} =~ /remote-debugging-/
	    && $_->{cmd} !~ /--type=/ } tree($i->{pid});
	return $p;
}

# Only the first session lives on.
$c[$_]->call('session.close', { sessionId => $sessions[$_], force =>
	$BrowserTask::Client::true }) for 1 .. $#sessions;
my $profile = $i->state_dir . "/profiles/kept/$sessions[0]";
ok(-d $profile, 'a profile that is kept');
my (@left, @took);
@wrong = ();
for my $n (1 .. $relaunches) {
	wait_until(60, sub { my $b = browser();
		kill 'KILL', $b->{pid} if $b; !$b });
	my ($uid, $gid) = (stat $profile)[4, 5];
	# Of a process that is none, of one that lives, of another machine.
	my $lock = (POSIX::uname())[1] . '-' . ($n % 3 ? 99999 : $$);
	$lock = "elsewhere-$n" if $n % 3 == 1;
	for my $name (qw(SingletonLock SingletonCookie)) {
		unlink "$profile/$name";
		symlink $lock, "$profile/$name" or push @left, $!;
	}
	my ($s, $r) = timed(sub {
		my $run = $c[0]->call('run.submit', { templateId => 'visitor',
			sessionId => $sessions[0],
			inputs => { urls => urls('/who') },
			options => { mode => 'async' } });
		return ended($c[0], $run->{runId}, 120);
	});
	push @took, $s;
	# What the tab kept has gone with the browser.
	my $said = $r->{result}{said}[0] // {};
	push @wrong, $r if ($said->{text} // '') !~ /^you are c0\./
	    || ($said->{stored} // '') ne 'word0';
}
is_deeply(\@left, [], 'a lock is put there each time');
figure('%d browsers started over a stale lock, after %.0f ms, at most %.0f',
    $relaunches, map { 1000 * quantile($_, @took) } 0.5, 1);
is(@wrong, 0, 'browsers start over it')
    or diag explain \@wrong;
is($i->stop, 0, 'stops');
kill 'KILL', $server;
waitpid $server, 0;
is(left(60), '', 'no process is left');
done_testing();
