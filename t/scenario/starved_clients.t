#!/usr/bin/perl
# browsertaskctl and browsertask-mcp on an exhausted machine: the n-th call of
# one kind is refused, once or from then on. Each does its work, or says what is
# wrong and ends; neither hangs or is ended by a signal, and a run that was
# reported is there. Some n are drawn by SEED. At full size the first call from
# each place is refused, as t/scenario/starved.t has it.
# FAULT=PATTERN repeats those whose name it fits, such as ctl/show/malloc/once,
# from the FROM-th place to the TO-th, or with CALLS=1 from the FROM-th call.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure seeded sized);
use BrowserTask::Starved;
use Test::More;

use constant {
	ANSWER_S => 60,
	UNTOUCHED => 3,    # so many without a refusal are the end
	DRAWS => 10,       # times as many as are wanted, until one is refused
};

my $build = $ENV{builddir} // die "builddir is not set\n";
seeded();
my $full = sized('the first call from each place refused, 1: yes', 0, 1);
my $few = sized('calls drawn for each client', 3, 0);
my %about = (malloc => 400, open => 8, epoll => 6, socket => 4, write => 3,
	send => 3, mmap => 2, dup => 2);
my %program = map { $_ => BrowserTask::Starved->new($_) }
    qw(browsertaskctl browsertask-mcp);
my $i = BrowserTask::Harness->new(
	programs => { workerd => "$build/t/scenario/scripted",
		browsertaskctl => $program{browsertaskctl}->path },
	browser => "$build/t/launch/fake-headless-shell")->start;
my $c = client($i);
my $run = $c->run('scripted', { do => [ 'item', 'art' ] },
	{ mode => 'sync' })->{runId};
my @answers;    # what went wrong with this refusal

sub wrong { push @answers, @_; return }

sub ctl {
	my (@command) = @_;
	my ($status, $out, $err) = $i->ctl(@command);

	wrong("ended by signal " . ($status & 127)) if $status & 127;
	wrong('status ' . ($status >> 8)) if $status >> 8 > 5;
	$err =~ s/^<4>refused:.*\n//mg;
	wrong("status $status without a word") if $status && "$err$out" !~ /\w/;
	wrong("says: $err") if $err =~ /panic|assert/i;
	if ($command[0] eq 'submit' && $status == 0) {
		my ($id) = $out =~ /(run_\w+)/;
		wrong("its run is not there: $out")
		    if !$id || get($c, $id)->{errorCode};
	}
}

# An answer, or the adapter's end.
sub answered {
	my ($m, $answer) = @_;

	if (!$answer) {
		my $status = $m->wait(10);
		return wrong('neither an answer nor an end')
		    if !defined $status;
		wrong("ended by signal " . ($status & 127)) if $status & 127;
		return 0;
	}
	wrong('an error without code or message')
	    if $answer->{error} && !($answer->{error}{code}
		&& $answer->{error}{message});
	return $answer;
}

sub mcp {
	my $m = BrowserTask::Mcp->new(instance => $i,
		program => $program{'browsertask-mcp'}->path);
	my @asks = (
		[ 'initialize', { protocolVersion => '2025-11-25',
			capabilities => {}, clientInfo => { name => 'test',
			version => '1' } } ],
		[ 'tools/list', {} ],
		[ 'tools/call', { name => 'run_task_template', arguments =>
			{ templateId => 'scripted', mode => 'sync',
			inputs => { do => [ 'item', 'art' ] } } } ],
		[ 'tools/call', { name => 'get_task_run', arguments =>
			{ runId => $run } } ],
	);

	for my $ask (@asks) {
		my $a = answered($m, $m->ask(@$ask, ANSWER_S)) or last;
		$m->send({ jsonrpc => '2.0',
			method => 'notifications/initialized' })
		    if $ask->[0] eq 'initialize';
		my ($id) = ($a->{result} && $a->{result}{structuredContent}
		    && $a->{result}{structuredContent}{runId}) // ();
		wrong("its run $id is not there")
		    if $id && get($c, $id)->{errorCode};
		# It waits for the service anew with each question.
		last if ($a->{result}{content}[0]{text} // '')
		    =~ /"SERVICE_UNAVAILABLE"/;
	}
	$m->eof;
	defined $m->wait(60) or wrong('does not end');
}

sub try_n {
	my ($name, $program, $try, $kind, $how, $n, $by_site) = @_;
	my $fault = "$name/$kind/$how/" . ($by_site ? 'place ' : '') . $n;

	@answers = ();
	$program->arm($kind, $n, $how eq 'ever', $by_site);
	$try->();
	my (undef, $refused) = $program->disarm;
	fail("$fault: $_") for @answers;
	note $fault, $refused ? '' : ', untouched' if $ENV{FAULT};
	return $refused;
}

# Each with the kinds of calls that it makes.
my $talks = 'malloc open socket epoll send';
my @clients = (
	[ 'ctl/submit', 'browsertaskctl', sub {
		ctl('submit', 'scripted', 'do=item', 'do=art')
	}, $talks ],
	[ 'ctl/show', 'browsertaskctl', sub { ctl('show', $run) }, $talks ],
	[ 'ctl/runs', 'browsertaskctl', sub { ctl('runs') }, $talks ],
	[ 'ctl/events', 'browsertaskctl', sub { ctl('events', $run) }, $talks ],
	[ 'ctl/artifact', 'browsertaskctl', sub { ctl('artifact', 'get', $run) },
		$talks ],
	[ 'ctl/doctor', 'browsertaskctl', sub { ctl('doctor') },
		"$talks clone dup" ],
	[ 'mcp', 'browsertask-mcp', \&mcp, 'malloc open socket mmap send' ],
);

# With each place of each kind, until there is no such place any more. A kind
# that the client is not said to use it does not use.
sub try_client {
	my ($name, $program, $try, $uses) = @_;
	my $all = 0;

	for my $pair (map { ("$_/once", "$_/ever") }
		grep { $program->has($_) } kinds()) {
		my ($kind, $how) = split m{/}, $pair;
		my ($untouched, $places) = (0, 0);

		next if defined $ENV{FAULT}
		    && "$name/$pair" !~ /^$ENV{FAULT}/;
		for (my $n = $ENV{FROM} // 1;
		    $untouched < ($uses =~ /\b$kind\b/ ? UNTOUCHED : 1)
		    && $n <= ($ENV{TO} // 1 << 30);
		    $n += $ENV{STEP} // 1) {
			$untouched = try_n($name, $program, $try, $kind, $how,
				$n, !$ENV{CALLS}) ? 0 : $untouched + 1;
			$places++ if !$untouched;
		}
		is($places > 0, scalar($uses =~ /\b$kind\b/),
			"$name/$pair: $places places");
		$all += $places;
	}
	figure('%s: refused at %d places', $name, $all);
}

# One that is drawn behind the last call refuses nothing.
sub try_some {
	my ($name, $program, $try) = @_;
	my @kinds = grep { $about{$_} && $program->has($_) } kinds();
	my ($tries, $touched) = (0, 0);

	while ($tries < $few || (!$touched && $tries < DRAWS * $few)) {
		my $kind = $kinds[ rand @kinds ];
		$tries++;
		$touched++ if try_n($name, $program, $try, $kind,
			rand() < 0.5 ? 'once' : 'ever',
			1 + int rand $about{$kind});
	}
	cmp_ok($touched, '>', 0, "$name: $touched of $tries draws are refused");
}

for my $client (@clients) {
	my ($name, $of, $try, $uses) = @$client;
	my $program = $program{$of};

	if ($full || defined $ENV{FAULT}) {
		try_client($name, $program, $try, $uses);
		next;
	}
	try_some($name, $program, $try);
}
is($c->run('scripted', { do => ['item'] }, { mode => 'sync' })->{status},
	'succeeded', 'the service serves on');
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
