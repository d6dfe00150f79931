#!/usr/bin/perl
# Who had read an artifact or was refused something was answered first, and the
# row of the audit log followed up to half a second later: a crash lost it. Now
# the answer waits for the row. audit.t stopped the service in order.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);
my $run = $c->run('scripted', { do => ['item'] }, { mode => 'sync' });
my @arts = map { $_->{artifactId} }
    @{ $c->call('artifact.list', { runId => $run->{runId} })->{artifacts} };
ok(@arts >= 2, 'a run with artifacts');

# What is asked => action and detail of its row.
my %asked = (
	'an artifact that is read' => [ sub {
		$_[0]->call('artifact.get', { artifactId => $arts[0] }) },
	    'artifact.read', qr/^\Q$arts[0]\E, / ],
	'another one' => [ sub {
		$_[0]->call('artifact.get', { artifactId => $arts[1] }) },
	    'artifact.read', qr/^\Q$arts[1]\E, / ],
	'a submission that is refused' => [ sub {
		$_[0]->run('nonsense', {}, { mode => 'async' }) },
	    'run.refuse', qr/^TEMPLATE_NOT_FOUND$/ ],
	'one with bad inputs' => [ sub {
		$_[0]->run('scripted', { do => 7 }, { mode => 'async' }) },
	    'run.refuse', qr/^INVALID_PARAMETER, scripted$/ ],
	'a request for administrators' => [ sub {
		$_[0]->call('audit.verify', {}) },
	    'access.refuse', qr/^audit\.verify$/ ],
);

sub supervisord {
	my ($p) = grep { $_->{cmd} =~ /^supervisord/ } tree($i->{pid});
	return $p->{pid};
}

my @names = sort keys %asked;
my @clients = map { client($i) } @names;
my $pid = supervisord();
my @answers = map { $asked{ $names[$_] }[0]->($clients[$_]) } 0 .. $#names;
kill 'KILL', $pid;
is(scalar(grep { $_ } @answers), scalar(@names), 'all are answered');
ok(wait_until(60, sub { (supervisord() // $pid) != $pid }),
    'supervisord is killed at once');
my $admin = BrowserTask::Client->new($i->admin_sock);
for my $name (@names) {
	my (undef, $action, $detail) = @{ $asked{$name} };

	is((grep { $_->{detail} =~ $detail } @{ $admin->call('audit.list',
		{ action => $action, limit => 100 })->{rows} }), 1,
	    "$name: the audit log has it");
}
ok(BrowserTask::Client->new($i->admin_sock)->call('audit.verify', {})->{sound},
    'the log is sound');
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
