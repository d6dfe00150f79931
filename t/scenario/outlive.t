#!/usr/bin/perl
# Cells outlive their supervisord, and the next one goes on with them: the real
# launcher, cells and browser, with supervisord played by t/launch/fakesup, which
# here leaves it to the test what becomes of what it is offered. The same with the
# real supervisord is in t/scenario/adopt.t.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Talk;
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $RUN = 'run_01ARZ3NDEKTSV4RRFFQ69G5FA';

$SIG{PIPE} = 'IGNORE';

sub instance {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(
		mode => $mode,
		launcher => "$build/t/scenario/undamped",
		settings => [ 'hangMs=5000' ],
		programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework",
		});
	$i->{env} = { BROWSERTASK_TEST_ASKS => 1, GAP => $i->dir . '/gap' };
	return $i->start;
}

sub gone {
	my ($seconds, $what) = @_;
	my $left = left($seconds);
	ok($left eq '', $what)
	    or diag(map { substr($_, 0, 90) . "\n" } split /\n/, $left);
}

sub living {
	my ($i, $re) = @_;
	return grep { $_->{state} ne 'Z' && $_->{cmd} =~ $re } tree($i->{pid});
}

sub supervisord {
	my ($i) = @_;
	my ($p) = living($i, qr/^supervisord /);
	return $p ? $p->{pid} : undef;
}

# Those of a cell, by the number of the slot that its worker has.
sub parts {
	my ($i, $cell_pid) = @_;
	my %of = (cell => $cell_pid);

	for my $p (grep { $_->{ppid} == $cell_pid } tree($i->{pid})) {
		$of{worker} = $p->{pid} if $p->{cmd} =~ /^workerd/;
		$of{browser} = $p->{pid} if $p->{cmd} =~ /--remote-debugging/;
	}
	return \%of;
}

sub cell_pids {
	my ($i) = @_;
	return map { $_->{pid} } grep { $_->{ppid} == $i->{pid} }
	    living($i, qr/^cell: session/);
}

# Starts a cell, and says which processes it is.
sub start_cell {
	my ($i, $t, $id, $flags, %opt) = @_;
	my %before = map { $_ => 1 } cell_pids($i);

	$t->up($id, $flags, worker => $id, browser => $id, %opt);
	$t->version($id) if $flags & BROWSER;
	my ($new) = grep { !$before{$_} } cell_pids($i);
	return parts($i, $new);
}

sub end {
	my ($pid) = @_;

	kill 'KILL', $pid;
	wait_until(60, sub { !-d "/proc/$pid" }) or die "$pid lives\n";
}

# No supervisord is started while there is a gap.
sub gap {
	my ($i, $on) = @_;
	my $path = $i->dir . '/gap';

	if ($on) {
		open(my $fh, '>', $path) or die "$path: $!\n";
	} else {
		unlink $path or die "$path: $!\n";
	}
}

# Ends supervisord; what $during does happens while there is none.
sub without_supervisord {
	my ($i, $during) = @_;

	gap($i, 1);
	end(supervisord($i));
	$during->();
	gap($i, 0);
	return BrowserTask::Talk->new($i);
}

# What the next one was offered, by id; which secrets there are; and all else
# that it heard.
sub offers {
	my ($t) = @_;
	my (%offer, @kept, @rest);

	while (defined(my $line = $t->expect(qr/./, 20))) {
		if ($line =~ /^adopt (\d+) (.*)/) {
			$offer{$1} = $2;
		} elsif ($line =~ /^kept (\S+)/) {
			push @kept, $1;
		} elsif ($line =~ /^adopt_end (\d+)/) {
			is($1, scalar keys %offer, "$1 are offered");
			return (\%offer, \@kept, \@rest);
		} else {
			push @rest, $line;
		}
	}
	return ({}, [], []);
}

sub obeyed {
	my ($t, $id) = @_;
	$t->say("check $id");
	return scalar $t->expect(qr/^sandbox $id/);
}

# A run, a run in a kept cell, and a kept cell without a worker.
sub test_adopted {
	my ($mode) = @_;
	my $i = instance($mode);
	my $t = BrowserTask::Talk->new($i);
	my $dir = $i->state_dir . '/profiles/kept';

	is((offers($t))[0]->{1}, undef, 'nothing at a first start');
	my $one = start_cell($i, $t, 1, BROWSER);
	my $two = start_cell($i, $t, 2, BROWSER | KEEP, profile => 'two');
	my $three = start_cell($i, $t, 3, BROWSER | KEEP, profile => 'three');
	$t->spawn(4, BROWSER, worker => 4, browser => 4);
	$t->expect(qr/^ready 4/);
	$t->say("name 1 ${RUN}A");
	$t->say("name 2 ${RUN}B");
	$t->say("secret 01ARZ3NDEKTSV4RRFFQ69G5FAA 9 geheim");
	$t->say("secret 01ARZ3NDEKTSV4RRFFQ69G5FAB 4 auch");
	$t->say('tell 3 exit 0');
	$t->expect(qr/^worker_exited 3/);
	obeyed($t, 1);
	# It answers when there is nobody to read it.
	kill 'STOP', $one->{worker};
	$t->say('tell 1 cdp {"id":7,"method":"Browser.getVersion"}');
	obeyed($t, 1);
	end(supervisord($i));
	kill 'CONT', $one->{worker};

	$t = BrowserTask::Talk->new($i);
	my ($offer, $kept, $rest) = offers($t);
	like($offer->{1}, qr/^${RUN}A 1 1 1 \d+ \d+ $/,
	    'a cell with the run of its worker');
	like($offer->{2}, qr/^${RUN}B 1 1 17 \d+ \d+ two$/,
	    'a kept one with its profile');
	like($offer->{3}, qr/^- 0 1 17 \d+ \d+ three$/,
	    'one that had no worker any more');
	like($offer->{4} // '- 1 1 1 0 0 ', qr/^- 1/, 'one without a name');
	is(join(' ', sort @$kept), '01ARZ3NDEKTSV4RRFFQ69G5FAA '
	    . '01ARZ3NDEKTSV4RRFFQ69G5FAB', 'the secrets of both runs');
	$t->say("adopted $_") for 1 .. 3;
	$t->say('kill 4') if $offer->{4};
	my $said = qr/^worker 1 cdp \{"id":7,"result"/;
	ok(scalar((grep { /$said/ } @$rest) || $t->expect($said)),
	    'what its worker said meanwhile is heard');
	ok($t->version(1), 'and it goes on');
	ok($t->version(2), 'so does that in the kept one');
	for my $part (qw(cell worker browser)) {
		ok(-d "/proc/$one->{$part}", "the first $part is the same");
		ok(-d "/proc/$two->{$part}", "and so is the second");
	}
	$t->say('worker 3');
	$t->expect(qr/^worker_ready 3/);
	is(($t->expect(qr/^worker 3 hello (.*)/))[0], '--generation 1',
	    'the third gets another worker');
	ok($t->version(3), 'with the same browser');
	ok(-d "/proc/$three->{browser}", 'which lives');

	$t->spawn(9, BROWSER, worker => 1, browser => 9);
	is($t->expect(qr/^reaped 9/), 'reaped 9 0 spawn failed '
	    . POSIX::EBUSY() . ' take a slot', 'its slot is still taken');
	mkdir "$dir/nobody";
	$t->say('purge');
	obeyed($t, 1);
	ok(-d "$dir/two" && !-d "$dir/nobody", 'its profile is still in use');
	$t->say('secret 01ARZ3NDEKTSV4RRFFQ69G5FAC 3 neu');
	$t->say('drop 01ARZ3NDEKTSV4RRFFQ69G5FAB');
	$t->say('give 1 01ARZ3NDEKTSV4RRFFQ69G5FAA');
	$t->say('tell 1 secrets');
	is($t->expect(qr/^worker 1 secrets/), 'worker 1 secrets 9 geheimxxx',
	    'its secrets are to be had');
	$t->say('tell 1 exit 3');
	is($t->expect(qr/^reaped 1/), 'reaped 1 768 worker ended 0 ',
	    'its end is told as ever');
	ok(!-d "/proc/$one->{browser}", 'and nothing is left of it');
	# Once more: those that were taken are offered again.
	end(supervisord($i));
	$t = BrowserTask::Talk->new($i);
	($offer, $kept) = offers($t);
	is(join(' ', sort keys %$offer), '2 3', 'again, those that live');
	is(join(' ', sort @$kept), '01ARZ3NDEKTSV4RRFFQ69G5FAA '
	    . '01ARZ3NDEKTSV4RRFFQ69G5FAC', 'and the secrets that are left');
	$t->say('kill 2');
	is($t->expect(qr/^reaped 2/), 'reaped 2 9 killed 0 ',
	    'refused: it is killed, and that is told');
	my $was = supervisord($i);
	$t->say('adopted 3');
	$t->say('adopted 3');
	ok(wait_until(60, sub { (supervisord($i) // $was) != $was }),
	    'what was not asked must not be answered');
	is($i->stop, 0, 'stop');
	gone(60, 'nothing left');
}

# What happens to cells while there is no supervisord.
sub test_gap {
	my ($mode) = @_;
	my $i = instance($mode);
	my $t = BrowserTask::Talk->new($i);

	my $worker = start_cell($i, $t, 1, BROWSER | KEEP, profile => 'one');
	my $cell = start_cell($i, $t, 2, BROWSER);
	my $browser = start_cell($i, $t, 3, BROWSER);
	my $alone = start_cell($i, $t, 4, BROWSER);
	my $both = start_cell($i, $t, 5, BROWSER | KEEP, profile => 'five');
	$t = without_supervisord($i, sub {
		kill 'KILL', $worker->{worker};
		kill 'KILL', $cell->{cell};
		kill 'KILL', $browser->{browser};
		kill 'KILL', $alone->{worker};
		kill 'KILL', $both->{worker}, $both->{browser};
		wait_until(60, sub {
			!grep { -d "/proc/$_" } $worker->{worker},
			    $cell->{cell}, $browser->{browser},
			    $alone->{cell}, $both->{cell}
		}) or diag 'something lives';
	});
	my ($offer, undef, $rest) = offers($t);

	ok($offer->{1} && $offer->{3}, 'what lives is offered');
	# The end of a cell may take longer than there is nobody.
	for my $id (2, 4, 5) {
		ok(!$offer->{$id} || (grep { /^reaped $id / } @$rest)
		    || $t->expect(qr/^reaped $id /), "nor is what was reaped");
	}
	for my $event ('browser_exited 3 9', 'worker_exited 1 9') {
		ok(scalar((grep { $_ eq $event } @$rest)
		    || $t->expect(qr/^$event$/)), "$event is told behind");
	}
	like($offer->{1}, qr/^- 1 /, 'of a worker that there was');
	$t->say('adopted 1');
	$t->say('adopted 3');
	$t->say('worker 1');
	$t->expect(qr/^worker_ready 1/);
	ok($t->version(1), 'another worker in the kept one');
	$t->say('tell 3 exit 5');
	is($t->expect(qr/^reaped 3/), 'reaped 3 1280 worker ended 0 ',
	    'the worker without a browser ends by itself');
	is(scalar(my @c = cell_pids($i)), 1, 'nothing else is left');

	is($i->stop, 0, 'stop');
	gone(60, 'nothing left');
}

# The launcher is killed, or told to stop, while there is no supervisord.
sub test_end_in_gap {
	my ($mode) = @_;

	for my $signal (qw(KILL TERM)) {
		my $i = instance($mode);
		my $t = BrowserTask::Talk->new($i);
		my $one = start_cell($i, $t, 1, BROWSER);

		kill 'STOP', $one->{browser}, $one->{worker} if $signal eq 'KILL';
		gap($i, 1);
		end(supervisord($i));
		kill $signal, $i->{pid};
		my $was = time;
		gone(10, "$signal for the launcher: nothing is left");
		note sprintf 'after %.2f s', time - $was;
		$i->wait;
	}
}

# Nobody answers: a supervisord that hangs at its start.
sub test_unanswered {
	my ($mode) = @_;
	my $i = instance($mode);
	my $t = BrowserTask::Talk->new($i);

	start_cell($i, $t, 1, BROWSER);
	start_cell($i, $t, 2, BROWSER | KEEP, profile => 'two');
	my $since = time;
	end(supervisord($i));
	$t = BrowserTask::Talk->new($i);
	offers($t);
	$t->say('adopted 2');
	is($t->expect(qr/^reaped 1/, 30), 'reaped 1 9 killed 0 ',
	    'what is not answered is killed');
	cmp_ok(time - $since, '>=', 9, 'in due time');
	like($i->log, qr/cell 1: not taken within 10 s: killed/, 'and logged');
	ok($t->version(2), 'what was, lives');
	is($i->stop, 0, 'stop');
	gone(60, 'nothing left');
}

# It does not come back: what is started ends at once.
sub test_never {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode, programs => {
		supervisord => "$build/t/launch/fakesup",
		workerd => "$build/t/launch/fakework" });
	$i->{env} = { BROWSERTASK_TEST_ENDS => $i->dir . '/gap' };
	my $t = BrowserTask::Talk->new($i->start);

	start_cell($i, $t, 1, BROWSER);
	gap($i, 1);
	end(supervisord($i));
	is(scalar(my @c = cell_pids($i)), 1, 'the cell lives');
	is($i->wait(60), 1 << 8, 'too often: the launcher gives up');
	gone(60, 'and takes all with it');
}

beside(mode_parts('not answered' => \&test_unanswered,
	adopted => \&test_adopted, gap => \&test_gap,
	'end in the gap' => \&test_end_in_gap,
	'never back' => \&test_never));
done_testing();
