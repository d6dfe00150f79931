#!/usr/bin/perl
# Pages, and programs in the browser's place, that want too much: each ends its
# own run with the limit it passed as the reason, another run goes on beside
# it, and nothing is left. Limits are low and are found by looking, as without
# a control group of the service's own.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use IO::Socket::UNIX;
use Test::More;
use Time::HiRes qw(time);

use constant { BROWSER => 1, FULL => 8, MIB => 1 << 20 };
my $build = $ENV{builddir} // die "builddir is not set\n";
my @over = qw(memory processes time profile);

$SIG{PIPE} = 'IGNORE';

# What is measured depends on how many look at the same time: it is printed.
sub told { diag("limits: @_") if $ENV{VERBOSE}; note(@_) }

# Programs: each in a cell of its own, beside one that only waits.

# The first line that matches within so many seconds.
sub expect {
	my ($lines, $re, $seconds) = @_;
	my $end = time + $seconds;

	while ((my $rest = $end - time) > 0) {
		my $line = $lines->next($rest) // last;
		return $line if $line =~ $re;
	}
	diag("no $re");
	return '';
}

my @hogs = (
	[ memory => 'memory', 300 * MIB, 32 * MIB, 0, 1000 ],
	[ shared => 'memory', 300 * MIB, 32 * MIB, 0, 1000 ],
	[ fork => 'processes', 1024 * MIB, 32 * MIB, 0, 150 ],
	[ spin => 'time', 1024 * MIB, 32 * MIB, 500, 1000 ],
	[ flicker => 'time', 1024 * MIB, 32 * MIB, 2000, 1000 ],
	[ store => 'profile', 1024 * MIB, 32 * MIB, 0, 1000 ],
);

sub test_hog {
	my ($sock, $lines, $id, $row) = @_;
	my ($what, $over, @limits) = @$row;
	my $began = time;

	syswrite $sock, "limits @limits\nspawn $id 1 1 " . (BROWSER | FULL)
	    . " 01ARZ3NDEKTSV4RRFFQ69G5FA$id\n";
	expect($lines, qr/^worker $id hello/, 60);
	syswrite $sock, "tell $id cdp $what\n";
	my $line = expect($lines, qr/^(limit|reaped) $id /, 120);
	my (undef, undef, $which, $limit, $value) = split / /, $line;
	like($line, qr/^limit/, "$what: ends by a limit") or return;
	is($over[$which], $over, "$what: of $over");
	cmp_ok($value, '>', $limit, "$what: which is passed");
	like(expect($lines, qr/^reaped $id /, 60), qr/^reaped/,
		"$what: nothing of it is left");
	told("$what: $over $value of $limit, gone after "
	    . sprintf('%.1f s', time - $began));
}

sub test_hogs {
	my ($mode, @rows) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
		browser => "$build/t/launch/hog", programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework" })->start;
	my $sock = wait_until(60, sub {
		IO::Socket::UNIX->new(Peer => $i->admin_sock);
	}) or die "connect: $!\n";
	my $lines = lines($sock);
	my $id = 2;

	syswrite $sock, 'spawn 1 0 0 ' . (BROWSER | FULL)
	    . " 01ARZ3NDEKTSV4RRFFQ69G5FA1\n";
	expect($lines, qr/^worker 1 hello/, 60);
	test_hog($sock, $lines, $id++, $_) for @rows;
	syswrite $sock, "tell 1 who\n";
	like(expect($lines, qr/^(worker 1 me|reaped 1) /, 60), qr/^worker/,
		'the cell beside them lives');
	$i->stop;
	is(left(60), '', 'nothing is left');
}

# Pages: all at the same time, and an ordinary run that lasts as long. Each wants
# more of one thing than it may have, but not without end: on a machine that
# looks at it late only, it must not have passed another limit meanwhile. What
# all of them use of processors, and some on a slow machine much, is limited for
# one page alone, with a service of its own.

my $worker = 'URL.createObjectURL(new Blob([`%s`]))';
my %page = (
	memory => sprintf('for (let i = 0; i < 4; i++) new Worker('
	    . "$worker)", 'const a = []; setInterval(() => a.length < 60 && '
	    . 'a.push(new Uint8Array(4 << 20).fill(1)), 50)'),
	threads => sprintf("const u = $worker, a = []; setInterval(() => {"
	    . 'for (let i = 0; i < 4 && a.length < 120; i++)'
	    . ' a.push(new Worker(u)) }, 100)',
		'onmessage = () => {}'),
	spins => sprintf("const u = $worker; new Worker(u); new Worker(u)",
		'for (;;);'),
	# A store of one origin is bound by the browser as well, to a part of
	# what there is; of a kept session, to a part of the disk.
	store => 'const o = indexedDB.open("x"); o.onupgradeneeded = () =>'
	    . ' o.result.createObjectStore("s", { autoIncrement: true });'
	    . 'o.onsuccess = async () => { for (let n = 0; n < 100; n++) {'
	    . ' const b = new Uint8Array(1 << 20);'
	    . ' for (let i = 0; i < b.length; i += 65536)'
	    . ' crypto.getRandomValues(b.subarray(i, i + 65536));'
	    . ' await new Promise((ok) => {'
	    . ' const t = o.result.transaction("s", "readwrite");'
	    . ' t.objectStore("s").add(b); t.oncomplete = ok;'
	    . ' t.onabort = () => setTimeout(ok, 100) }) } }',
	# Downloads are refused before there is a file.
	downloads => 'for (let i = 0; i < 20; i++) { const a = document'
	    . '.createElement("a"); a.download = i; a.href = URL'
	    . '.createObjectURL(new Blob([new Uint8Array(4 << 20)]));'
	    . ' a.click(); const f = document.createElement("iframe");'
	    . ' f.src = "/download?" + i; document.documentElement'
	    . '.append(f) }',
);
my $dir = tempdir('bt-limits-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
for my $name (keys %page) {
	open(my $fh, '>', "$dir/$name.html") or die "$name: $!\n";
	print $fh "<!DOCTYPE html><title>$name</title><p>text<script>",
	    "$page{$name}</script>", $name eq 'downloads' ? ''
	    : '<script src="/hold/x.js"></script>';
	close $fh;
}

my %ends = (
	memory => [ 'PAGE_CRASHED', 'runMemoryBytes',
		qr/^the page was killed, as one is that takes too much of the /,
		qr/that takes too much memory\.$/ ],
	threads => [ 'PROCESS_LIMIT', 'runProcesses',
		qr/^the run had \d+ processes and threads; the limit is 160 / ],
	spins => [ 'CPU_LIMIT', 'runCpuMs',
		qr/^the run used \d+ ms of processor time; the limit is 3000 / ],
	store => [ 'PROFILE_LIMIT', 'runProfileBytes',
		qr/^the run stored \d+ MiB in its profile; the limit is 40 / ],
);

sub end_is {
	my ($c, $run, $name) = @_;
	my ($cause, $setting, $message, $hint) = @{ $ends{$name} };
	my $r = ended($c, $run, 320);
	my $error = $r->{error};

	is($r->{status}, 'failed', "$name: the run fails")
	    or diag explain $r;
	is($error->{details}{cause}, $cause, "$name: by its limit");
	like($error->{message}, $message, "$name: it says which");
	like($error->{message}, qr/\(setting $setting(?:=\d+)?\)$/,
		"$name: and what to set");
	like($error->{recoverHint}, $hint
	    // qr/the limit is the setting $setting\.$/,
		"$name: and what to do");
	ok(!$error->{retryable}, "$name: again would be the same")
	    if $cause =~ /LIMIT/;
	my ($line) = grep { /used \d+ MiB/ }
	    @{ get($c, $run, 'output')->{output}{trace_lines} };
	ok($line, "$name: what it used is kept") or return;
	told("$name: $error->{message}; $line");
}

sub submit {
	my ($c, $template, @urls) = @_;
	return $c->call('run.submit', { templateId => $template,
		inputs => { urls => \@urls },
		options => { mode => 'async', timeoutMs => 300_000 } })->{runId};
}

sub test_beside {
	my ($c, $run) = @_;
	my $ok = ended($c, $run, 320);

	is($ok->{status}, 'succeeded', 'the run beside them succeeds')
	    or diag explain $ok->{error};
	my ($used) = map { /used (\d+) MiB/ }
	    @{ get($c, $run, 'output')->{output}{trace_lines} };
	cmp_ok($used, '<', 500, 'no download filled anything');
	told("beside them: $used MiB");
}

sub test_pages {
	my ($cpu_ms, @names) = @_;
	my $site = BrowserTask::Scenario::Site->new;
	my $own = BrowserTask::Scenario::Site->new(directory => $dir);
	my $i = BrowserTask::Harness->new(programs => {
		workerd => "$build/t/scenario/keepworker" }, settings => [
		'maxConcurrentRuns=8', 'runMemoryBytes=' . 640 * MIB,
		'runProcesses=160', "runCpuMs=$cpu_ms",
		'runProfileBytes=' . 40 * MIB ])->start;
	my $c = client($i);
	my %run;

	for my $name (@names) {
		$run{$name} = submit($c, $name eq 'store' ? 'keeper' : 'visitor',
			$site->url('/corpus/1'),
			map { $own->url("/$name?$_") } 1 .. 4);
	}
	my $beside = $cpu_ms == 0 && submit($c, 'visitor',
		$own->url('/downloads'),
		map { $site->url("/slow?$_") } 1 .. 3);
	end_is($c, $run{$_}, $_) for @names;
	test_beside($c, $beside) if $beside;
	is((grep { $_->{cmd} !~ /^(?:supervisord|egressd)/ } tree($i->{pid})), 0,
		'and nothing is left of any');
	$i->stop;
	$_->stop for $own, $site;
}

# As an ordinary user, what the kernel does otherwise: it counts processes.
beside(mode_parts(programs => sub {
		my ($mode) = @_;
		test_hogs($mode, grep { (() = modes()) == 1 || $mode eq 'system'
		    || $_->[0] =~ /fork|shared/ } @hogs);
	}), pages => sub { test_pages(0, qw(memory store threads)) },
	spins => sub { test_pages(3000, 'spins') });
done_testing;
