#!/usr/bin/perl
# Every request of every method and tool, split at every place between two
# writes: the adapter answers as if it had come in one. A method of the table
# that is not asked here is found out.
use strict;
use warnings;
use BrowserTask::Mcp;
use BrowserTask::Size qw(figure);
use JSON::PP ();
use Test::More;

my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $source = $ENV{srcdir} // '.';
my $envelope = { 'io.modelcontextprotocol/protocolVersion' => '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities' => {} };
my $none = ['-n', '-s', '/nonexistent/client.sock'];
my $cuts = 0;
my %hello = (protocolVersion => '2025-11-25', capabilities => {},
	clientInfo => { name => "t\x{e9}st", version => '1' });

# Arguments with which each tool asks the service, which is not there.
my %tool = (
	list_task_templates => {},
	run_task_template => { templateId => 'batch_extract_pages',
		inputs => { urls => ["http://x/\x{20ac}\"\\"] },
		options => { idempotencyKey => "k\x{1f600}" } },
	get_task_run => { runId => 'run_x', include => ['output'] },
	list_task_runs => { limit => 2, status => 'running' },
	cancel_task_run => { runId => 'run_x' },
	get_artifact => { artifactId => 'art_x', offset => 1, limit => 2 },
	get_runtime_profile => { },
	subscribe_task_run_events => { runId => 'run_x', afterSeq => 3 },
);
my %params = (
	initialize => \%hello,
	'resources/read' => { uri => 'artifact://art_x' },
	'resources/subscribe' => { uri => 'run://run_x' },
	'resources/unsubscribe' => { uri => 'run://run_x' },
	'prompts/get' => { name => 'x' },
	'completion/complete' => { ref => { type => 'ref/prompt', name => 'x' },
		argument => { name => 'y', value => 'z' } },
	map { $_ => { taskId => 'task_x' } } qw(tasks/get tasks/cancel
		tasks/update tasks/result),
);

sub slurp {
	my ($path) = @_;
	open(my $fh, '<', $path) or die "$path: $!\n";
	local $/;
	return scalar <$fh>;
}

# The methods of each era, as the adapter has them.
sub methods {
	my ($era) = @_;
	my ($table) = slurp("$source/mcp/methods.c") =~
	    /\} methods\[\] = \{(.*?)\n\};/s;
	my %is;

	while ($table =~ /\{ "([^"]+)", ([^}]*)\}/g) {
		my ($name, $rest) = ($1, $2);
		$is{$name} = 1 if $rest =~ /ERA_$era/;
	}
	return sort keys %is;
}

# The answer to the line when it comes in two writes. A ping before tells that
# the first part of it was read.
sub split_at {
	my ($m, $line, $at) = @_;
	my $ping = qq({"jsonrpc":"2.0","id":"p","method":"ping"}\n);

	syswrite $m->{in}, $ping . substr $line, 0, $at;
	my $first = $m->raw // return 'nothing';
	syswrite $m->{in}, substr $line, $at;
	return $first =~ /^\{"jsonrpc":"2.0","id":"p"/ ? $m->raw // 'nothing'
	    : $first;
}

sub try_line {
	my ($m, $name, $request) = @_;
	my $line = $json->encode({ jsonrpc => '2.0', id => 7, %$request })
	    . "\n";
	my $whole = split_at($m, $line, 0);
	$cuts += length($line) - 1;
	my @bad = grep { split_at($m, $line, $_) ne $whole }
	    1 .. length($line) - 1;

	like($whole, qr/"id":7/, "$name: " . substr $whole, 0, 60);
	is("@bad", '', "$name: the same, split at " . (length($line) - 1)
		. ' places');
}

for my $era (qw(LEGACY MODERN)) {
	my $m = BrowserTask::Mcp->new(args => $none);
	my %more = $era eq 'MODERN' ? (_meta => $envelope) : ();
	my @methods = methods($era);

	cmp_ok(scalar @methods, '>=', 13, "$era: " . @methods . ' methods');
	# Pings are of an era that has them.
	$m->init;
	for my $method (grep { $_ ne 'tools/call' } @methods) {
		try_line($m, "$era $method", { method => $method,
			params => { %{ $params{$method} // {} }, %more } });
	}
	for my $name (sort keys %tool) {
		try_line($m, "$era $name", { method => 'tools/call',
			params => { name => $name, arguments => $tool{$name},
				%more } });
	}
	$m->eof;
	is($m->wait, 0, "$era: it ends");
}
my @have = map { m{([^/]+)\.json$} } glob "$source/mcp/tools/*.json";
figure('requests split at %d places', $cuts);
is_deeply([ sort keys %tool ], [ sort @have ], 'every tool is asked');
done_testing();
