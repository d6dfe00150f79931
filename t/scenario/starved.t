#!/usr/bin/perl
# A machine that is exhausted at any moment: the n-th call of one kind of one
# program is refused, once or from then on, while clients submit, cancel, list
# and read. Every answer is a success or an error with its code; what was
# acknowledged stays so and ends; when the machine has recovered so has the
# service, without help. Some n are drawn by SEED. At full size so are more, of
# each kind, and before that the first call from each place is refused, until
# there is no n-th place; a place is a call with all that called it.
# FAULT=PATTERN repeats those whose name it fits, such as
# supervisord/malloc/once, from the FROM-th place to the TO-th, or with CALLS=1
# from the FROM-th call.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure seeded sized);
use BrowserTask::Starved;
use Digest::SHA qw(sha256_hex);
use File::Temp ();
use Test::More;
$| = 1;
use Time::HiRes qw(time);

use constant {
	ANSWER_S => 15,
	TERMINAL_S => 60,
	PATIENCE_S => 1,
	PAGE_PATIENCE_S => 8,    # a browser starts before it asks for a page
	UNTOUCHED => 3,    # so many without a refusal are the end
	DRAWS => 10,       # times as many as are wanted, until one is refused
	KILL => 9,
};

my $build = $ENV{builddir} // die "builddir is not set\n";
seeded();
my $full = sized('the first call from each place refused, 1: yes', 0, 1);
my $few = sized('calls drawn for each program', 4, 0);
my $more = sized('calls drawn of each kind, once and for ever', 0, 6);
my $part = defined $ENV{BESIDE};
my $temp = $part ? undef : File::Temp->new;
my $tally = $ENV{STARVED_TALLY} //= $temp->filename;    # what parts tried
my $site;
my $terminal = qr/^(?:succeeded|partial_success|failed|canceled)$/;
my $true = $BrowserTask::Client::true;
my $round = 0;
my $fault;    # what the round is about, for messages

my $instance;    # of the round

sub wrong {
	my ($what) = @_;
	fail("$fault: $what");
	my @lines = split /\n/, $instance ? $instance->log : '';
	diag "  $_" for @lines > 40 ? @lines[ -40 .. -1 ] : @lines;
	return;
}

# A connection that may be lost at any moment, which is no answer; another one
# is made then.
sub connection {
	my ($i) = @_;
	return { i => $i, c => BrowserTask::Client->new($i->client_sock,
		seconds => ANSWER_S), lost => 0 };
}

sub dial {
	my ($k) = @_;

	# Whoever has started the service starts it again, when supervisord has
	# ended too often; that may be for what is refused for ever only.
	if (defined(my $status = $k->{i}->wait(0))) {
		my $given_up = $k->{ever} && !($status & 127)
		    && substr($k->{i}->log, $k->{from}) =~ /: giving up$/m;
		wrong('the launcher ended') if !$given_up;
		note "$fault: given up";
		$k->{program}->disarm;
		$k->{i}->start;
	}
	return $k->{c} //= eval {
		my $c = BrowserTask::Client->new($k->{i}->client_sock,
			seconds => 5);
		$c->{seconds} = ANSWER_S;
		$c;
	};
}

# The answer, undef when there was none since the connection was lost.
sub ask {
	my ($k, $method, $params) = @_;
	my $c = dial($k) // return;
	my $answer = eval { $c->call($method, $params) };

	if (!defined $answer) {
		wrong("$method is not answered") if !$c->{eof}
		    && $@ =~ /^no answer/;
		$k->{c} = undef;
		$k->{lost}++;
		return;
	}
	return $answer if !$answer->{errorCode} || $method eq 'run.cancel';
	wrong("$method: an error without its code or cause: "
		. told($answer)) if !$answer->{message} || !$answer->{details}{cause};
	$k->{errors}{"$answer->{errorCode}/$answer->{details}{cause}"}++;
	return $answer;
}

# One that must go well.
sub must {
	my ($k, $method, $params, $seconds) = @_;
	my $answer;

	wait_until($seconds // 20, sub {
		$answer = ask($k, $method, $params);
		return $answer && !$answer->{errorCode};
	}) or wrong("$method: " . ($answer ? told($answer) : 'no answer'));
	return $answer;
}

sub told {
	my $text = join '', Test::More::explain(@_);
	$text =~ s/\s+/ /g;
	return substr $text, 0, 400;
}

sub submit {
	my ($k, $template, $inputs, %more) = @_;
	my $key = 'key' . ++$round;
	my %call = (templateId => $template, inputs => $inputs,
		options => { mode => 'async', idempotencyKey => $key }, %more);
	my $r = ask($k, 'run.submit', \%call);
	my $job = { call => \%call,
		run => $r && !$r->{errorCode} ? $r->{runId} : undef,
		told => $r ? 1 : 0 };

	push @{ $k->{jobs} }, $job;
	return $job;
}

# Waits for its end, not for long: it may have to wait for the machine.
sub attend {
	my ($k, $job) = @_;
	my $end = time + $k->{patience};

	return if !$job->{run};
	while (time < $end) {
		my $left = int(1000 * ($end - time));
		my $e = ask($k, 'run.events', { runId => $job->{run},
			afterSeq => $job->{seq} // 0,
			timeoutMs => $left > 1 ? $left : 1 });
		return if !$e || $e->{errorCode};
		for (@{ $e->{events} }) {
			wrong("event $_->{seq} follows " . ($job->{seq} // 0))
			    if $_->{seq} != ($job->{seq} // 0) + 1;
			$job->{seq} = $_->{seq};
		}
		last if $e->{status} =~ $terminal;
	}
	my $r = ask($k, 'run.get', { runId => $job->{run},
		include => 'output' }) // return;
	return if $r->{errorCode} || $r->{status} !~ $terminal;
	$job->{ended} = $r->{status};
}

sub cancel {
	my ($k, $job) = @_;

	return if !$job->{run};
	# Its answer waits for the end, and that until it can be written.
	if ($k->{ever}) {
		eval { dial($k)->send('run.cancel', { runId => $job->{run} }) };
		return attend($k, $job);
	}
	my $r = ask($k, 'run.cancel', { runId => $job->{run} }) // return;
	$job->{canceled} = 1 if $r->{success};
	attend($k, $job);
}

sub digests {
	my ($k, $job) = @_;
	my %of;

	return if !$job->{ended};
	my $list = ask($k, 'artifact.list', { runId => $job->{run} });
	for my $a (@{ $list->{artifacts} // [] }) {
		my $got = ask($k, 'artifact.get',
			{ artifactId => $a->{artifactId} }) // next;
		next if $got->{errorCode} || !$got->{complete};
		utf8::encode($got->{data});
		$of{ $a->{artifactId} } = sha256_hex($got->{data});
	}
	return \%of;
}

# What clients do while calls are refused; a second one comes in the middle.
sub drive {
	my ($k) = @_;
	my $late = eval {
		BrowserTask::Client->new($k->{i}->client_sock, raw => 1);
	};
	my $hello = eval { $late->send('hello', { proto => 1,
		client => 'late' }) } if $late;
	$k->{drive}->($k);
	return ($late, $hello);
}

# Runs of a worker that looks at no page.
sub drive_runs {
	my ($k) = @_;
	my $works = submit($k, 'scripted',
		{ do => [ qw(step:s item big done:s warn art) ] });
	my $holds = submit($k, 'scripted', { do => [ 'item', 'hold' ] });
	$holds->{holds} = 1;
	ask($k, 'run.list', { limit => 5 });
	ask($k, 'profile.get', {});
	attend($k, $works);
	$works->{digests} = digests($k, $works);
	cancel($k, $holds);
	my $keeps = submit($k, 'keeper', { do => ['step:a'] });
	attend($k, $keeps);
	my $row = ask($k, 'session.list', { limit => 5 }) // {};
	for my $s (map { $_->{sessionId} } @{ $row->{sessions} // [] }) {
		# As cancel() has it.
		if ($k->{ever}) {
			eval { dial($k)->send('session.close',
				{ sessionId => $s }) };
		} else {
			ask($k, 'session.close', { sessionId => $s });
		}
	}
}

# Runs of the real worker in the real browser.
sub drive_pages {
	my ($k) = @_;
	my $works = submit($k, 'batch_extract_pages', { csv => $true,
		urls => [ $site->url('/corpus/1'), $site->url('/corpus/2') ] });
	my $holds = submit($k, 'batch_extract_pages',
		{ urls => [ $site->url('/never-headers') ] });
	$holds->{holds} = 1;
	attend($k, $works);
	$works->{digests} = digests($k, $works);
	cancel($k, $holds);
}

sub processes {
	my ($k, $name) = @_;
	return grep { $_->{state} ne 'Z' && $_->{cmd} =~ /^(?:$name)/ }
	    tree($k->{i}{pid});
}

# One more run. egressd may rest, when it had to be started too often.
sub settle_next {
	my ($k) = @_;
	my ($template, $inputs) = @{ $k->{next} };

	wait_until(TERMINAL_S, sub { processes($k, 'egressd') })
	    or wrong('egressd is not started again');
	my $next = must($k, 'run.submit', { templateId => $template,
		inputs => $inputs, options => { mode => 'async' } }) // return;
	my $id = $next->{runId};
	wait_until(TERMINAL_S, sub {
		$next = ask($k, 'run.get', { runId => $id });
		return $next && ($next->{status} // '') =~ $terminal;
	});
	wrong('the next run: ' . told($next))
	    if (($next // {})->{status} // '') ne 'succeeded';
}

# Says so, and has them end: the next round is not to find them.
sub wrong_left {
	my ($k) = @_;

	wrong('left: ' . join ', ', map { substr $_->{cmd}, 0, 40 }
		processes($k, 'cell|workerd|chromium'));
	stop_well($k);
	$k->{i}->start;
}

# What drive() left, once the machine has recovered.
sub settle {
	my ($k, $late, $hello) = @_;

	my $profile = must($k, 'profile.get', {}, 30);
	if ($late && $hello) {
		my $answer = eval { $late->answer($hello, ANSWER_S) };
		wrong('a client that came meanwhile is not answered')
		    if !$answer && !$late->{eof};
	}
	for my $job (@{ $k->{jobs} }) {
		# One that was not answered may have been taken or not: the key
		# says. One that was refused has left its key.
		my $r = must($k, 'run.submit', $job->{call}) // next;
		if ($job->{run}) {
			wrong("run $job->{run} was lost")
			    if $r->{runId} ne $job->{run};
		} elsif ($job->{told} && $r->{deduplicated}) {
			wrong("run $r->{runId} was refused and is there");
		}
		$job->{run} //= $r->{runId};
		ask($k, 'run.cancel', { runId => $job->{run} })
		    if grep { $_ eq 'hold' } @{ $job->{call}{inputs}{do} };
		wait_until(TERMINAL_S, sub {
			$r = ask($k, 'run.get', { runId => $job->{run} });
			return $r && ($r->{status} // '') =~ $terminal;
		}) or wrong("run $job->{run} does not end: " . told($r));
		my $status = ($r // {})->{status} // '';
		wrong("run $job->{run} was $job->{ended} and is $status")
		    if $job->{ended} && $status ne $job->{ended};
		wrong("run $job->{run} was canceled and is $status")
		    if $job->{canceled} && !$job->{ended}
		    && $status ne 'canceled';
		wrong("run $job->{run} failed without a cause")
		    if $status eq 'failed' && !$r->{error}{details}{cause};
		my $now = $job->{digests} ? digests($k, $job) : {};
		for my $id (keys %{ $job->{digests} // {} }) {
			wrong("artifact $id is another one")
			    if ($now->{$id} // '') ne $job->{digests}{$id};
		}
	}
	delete $k->{jobs};
	settle_next($k);
	for (@{ (must($k, 'session.list', {}) // {})->{sessions} // [] }) {
		must($k, 'session.close', { sessionId => $_->{sessionId},
			force => $true });
	}
	wait_until(60, sub { !processes($k, 'cell|workerd') })
	    or wrong_left($k);
	return $profile;
}

# One round; true when a call was refused in it.
sub try_n {
	my ($name, $try, $kind, $how, $n, $by_site) = @_;
	my $began = time;

	$fault = "$name/$kind/$how/" . ($by_site ? 'place ' : '') . $n;
	my $touched = $try->($kind, $n, $how eq 'ever', $by_site);
	note sprintf '%s: %.1f s%s', $fault, time - $began,
	    $touched ? '' : ', untouched';
	return $touched;
}

# Calls some drawn times $try with kind, n, whether for ever and whether by
# place. $calls says about how many calls of each kind a round makes: one that
# is drawn behind the last refuses nothing.
sub try_some {
	my ($name, $calls, $try) = @_;
	my @drawn = grep { $calls->{$_} } kinds();
	my ($tries, $touched) = (0, 0);

	while ($tries < $few || (!$touched && $tries < DRAWS * $few)) {
		my $kind = $drawn[ rand @drawn ];
		$tries++;
		$touched++ if try_n($name, $try, $kind,
			rand() < 0.5 ? 'once' : 'ever',
			1 + int rand $calls->{$kind});
	}
	cmp_ok($touched, '>', 0, "$name: $touched of $tries draws are refused");
}

# With each place that calls of one kind are made from, until there is no such
# place any more; then with some calls from anywhere. A kind that is not in
# $calls is none that the program makes.
sub try_all {
	my ($name, $calls, $kind, $how, $try) = @_;
	my ($untouched, $places, $drawn) = (0, 0, 0);

	if (!$calls->{$kind}) {
		wrong('such a call is made')
		    if try_n($name, $try, $kind, $how, 1, 1);
		return;
	}
	for (my $n = $ENV{FROM} // 1; $untouched < UNTOUCHED
	    && $n <= ($ENV{TO} // 1 << 30); $n += $ENV{STEP} // 1) {
		$untouched = try_n($name, $try, $kind, $how, $n, !$ENV{CALLS})
		    ? 0 : $untouched + 1;
		$places++ if !$untouched;
	}
	for (1 .. (defined $ENV{FROM} ? 0 : $more)) {
		$drawn++ if try_n($name, $try, $kind, $how,
			1 + int rand $calls->{$kind});
	}
	cmp_ok($places, '>', 0, "$name/$kind/$how: $places places, $drawn calls");
	open(my $fh, '>>', $tally) or die "$tally: $!\n";
	print $fh "$name $places $drawn\n";
	close $fh;
}

# The programs and about how many calls of each kind a round makes; those that
# are not here it does not make. supervisord and the launcher are tried with
# what looks at no page.
my %calls = (
	supervisord => { malloc => 1500, open => 12, write => 40, sync => 30,
		rename => 4, epoll => 40, accept => 2, send => 60, mkdir => 1,
		truncate => 4 },
	browsertaskd => { malloc => 10, open => 60, epoll => 12, send => 25,
		socket => 20, clone => 3, dup => 20, mkdir => 14 },
	cell => { malloc => 80, open => 20, send => 5, socket => 1, clone => 2,
		dup => 10, mmap => 2 },
	workerd => { malloc => 2300, send => 40, epoll => 10, socket => 1 },
	egressd => { malloc => 60, socket => 6, accept => 4, epoll => 20,
		send => 12 },
);

# What may end: the round, the program, how it ends, and what is said before.
# All else that ends fails the test.
my @may_end = (
	# The last page of a commit: nobody can tell then whether that holds.
	[ qr{^supervisord/write/}, 'supervisord', qr/^ended with status 1$/,
		qr/: commit failed: the disk failed within a commit$/m ],
	# It does not begin on a disk that stays full, and is given up.
	[ qr{^supervisord/write/ever/}, 'supervisord',
		qr/^ended with status 1$/,
		qr/: recovery: the disk is full or refuses writes$/m ],
);

# How programs ended, as lines of the log; each that was not to is wrong.
sub judge_ends {
	my ($log) = @_;
	my ($said, @ends) = ('');

	for (split /^/, $log) {
		# Also of one that did not come up. A worker or a cell that is
		# killed the launcher or its cell has killed.
		wrong("a signal: $_")
		    if /(cell \d+): .*\bstatus (\d+)$/ && $2 & 127
		    && (($2 & 127) != KILL || /: cell died/
			&& $said !~ /browsertaskd: .*\b$1: broken link/);
		$said .= $_;
		next if !/: (supervisord|egressd) (?:was )?(ended (?:by|with) .*)/;
		my ($program, $how) = ($1, $2);
		push @ends, $_;
		wrong("what was not to end: $said")
		    if !grep { $fault =~ $_->[0] && $program eq $_->[1]
			&& $how =~ $_->[2] && $said =~ $_->[3] } @may_end;
		$said = '';
	}
	return @ends;
}

sub stop_well {
	my ($k) = @_;
	my $from = length $k->{i}->log;

	is($k->{i}->stop, 0, "$fault: stops");
	judge_ends(substr $k->{i}->log, $from);
	$k->{c} = undef;
}

sub try_service {
	my ($program, $k, $kind, $n, $ever, $by_site) = @_;
	my $i = $k->{i};
	my $from = length $i->log;

	@$k{qw(program ever from)} = ($program, $ever, $from);
	wait_until(60, sub { $program->arm($kind, $n, $ever, $by_site) })
	    or return wrong("$program->{path} cannot be changed");
	my @late = drive($k);
	wait_until(60, sub { defined(($program->disarm)[0]) })
	    or wrong('it still runs');
	settle($k, @late);
	my $log = substr $i->log, $from;
	note $log if $ENV{FAULT_TRACE};
	my @ends = judge_ends($log);
	note "$fault: $_" for @ends;
	if (grep { /: supervisord / } @ends) {
		# Or it would be given up for ending too often.
		stop_well($k);
		$i->start;
	}
	# What a cell says that does not come up, nobody reads.
	return $log =~ /refused: /
	    || $program->{inside} && $log =~ /reaped: spawn failed/;
}

# With kind and how only these.
sub test_service {
	my ($name, $real, $kind, $how) = @_;
	my $program = BrowserTask::Starved->new($name);
	my $i = $instance = BrowserTask::Harness->new(programs => {
		$real ? () : (workerd => "$build/t/scenario/scripted"),
		$name => $program->path },
		$name eq 'browsertaskd' ? (launcher => $program->path) : (),
		$real ? () : (browser => "$build/t/launch/fake-headless-shell"),
		settings => [ 'maxConcurrentRuns=3' ])->start;
	my $k = connection($i);
	my $calls = $calls{$name};

	$site = BrowserTask::Scenario::Site->new if $real;
	@$k{qw(patience drive next)} = $real
	    ? (PAGE_PATIENCE_S, \&drive_pages, [ 'batch_extract_pages',
		{ urls => [ $site->url('/corpus/3') ] } ])
	    : (PATIENCE_S, \&drive_runs, [ 'scripted', { do => [ 'item', 'art' ] } ]);
	srand($ENV{SEED} + unpack '%32C*', join '/', $name, $kind // ());
	$fault = "$name/nothing";
	settle($k, drive($k));
	delete $calls->{$_} for grep { !$program->has($_) } kinds();
	my $try = sub { return try_service($program, $k, @_) };
	$kind ? try_all($name, $calls, $kind, $how, $try)
	    : try_some($name, $calls, $try);
	stop_well($k);
	is(left(60, $real ? $site->{pid} : ()), '', "$name: no process is left");
	$site->stop if $real;
}

# All that has to be tried of one kind before the next kind: most calls are of
# the first.
sub sweeps {
	my %real = (egressd => 1, workerd => 1);
	my @parts;

	if (!$full && !defined $ENV{FAULT}) {
		return map { my $name = $_;
			$name => sub { test_service($name, $real{$name}) }
		} sort keys %calls;
	}
	for my $kind (kinds()) {
		for my $name (sort keys %calls) {
			next if !BrowserTask::Starved->new($name)->has($kind);
			push @parts, map { my $how = $_; "$name/$kind/$how" =>
				sub { test_service($name, $real{$name}, $kind,
				    $how) } } qw(once ever);
		}
	}
	return @parts;
}

sub total {
	my %of;

	open(my $fh, '<', $tally) or die "$tally: $!\n";
	while (<$fh>) {
		my ($name, $places, $drawn) = split;
		$of{$name}[0] += $places;
		$of{$name}[1] += $drawn;
	}
	figure('%s: refused at %d places and %d other calls', $_, @{ $of{$_} })
	    for sort keys %of;
}

my @parts = sweeps();
my @named = grep { $_ % 2 == 0
	&& $parts[$_] =~ ($ENV{FAULT} ? qr/^$ENV{FAULT}/ : qr//) } 0 .. $#parts;
beside(map { @parts[ $_, $_ + 1 ] } @named);
total() if !$part;
done_testing();
