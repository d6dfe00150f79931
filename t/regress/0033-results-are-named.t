#!/usr/bin/perl
# Of a run with more than 64 artifacts artifactIds named the first 64: not the
# TaskResult, which comes last, and not the extraction, and nothing said so.
# bounded.t has runs with few artifacts and large ones.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);

sub run_of {
	my ($template, @words) = @_;
	my $s = $c->run($template, { do => \@words }, { mode => 'async' });
	return ended($c, $s->{runId}, 120);
}

my $r = run_of('scripted', 'item', ('art') x 100);
is($r->{status}, 'succeeded', 'a run with 102 artifacts succeeds');
my %kind = map { $_->{artifactId} => $_->{kind} }
    @{ $c->call('artifact.list', { runId => $r->{runId} })->{artifacts} };
is(keys %kind, 102, 'all are in the list of artifacts');
my %named;
$named{ $kind{$_} // 'unknown' }++ for @{ $r->{artifactIds} };
is_deeply(\%named, { markdown => 62, extraction => 1, task_result => 1 },
    '64 are named, the extraction and the TaskResult among them');
is($r->{artifactsOmitted}, 38, 'the run says how many are not');
ok((grep { /^37 artifacts are not named/ } @{ $r->{warnings} }) == 1,
    'so does a warning, in the TaskResult too') or diag explain $r->{warnings};
ok(artifact_of($r, 'extraction'), 'the TaskResult names the extraction');
$r = run_of('fragile', ('art') x 63);
is(@{ $r->{artifactIds} }, 64, 'of 64 all are named');
ok(!exists $r->{artifactsOmitted}, 'and nothing says that some are not');
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
