#!/usr/bin/perl
# A run whose result could not be stored, as on a full disk, ended as succeeded
# with a warning: nobody reads those. faults.t had full disks on which nothing
# could be written, a run's end neither.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Starved;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $program = BrowserTask::Starved->new('supervisord');
plan skip_all => 'a sanitizer has rename for itself'
    unless $program->has('rename');
my $i = BrowserTask::Harness->new(scripted => 1,
	programs => { workerd => "$build/t/scenario/scripted",
		supervisord => $program->path })->start;
my $c = client($i);

sub run_of {
	return $c->run('scripted', { do => [qw(big item)] }, { mode => 'sync' },
		include => ['output']);
}

is(run_of()->{status}, 'succeeded', 'a run all of which is stored');

# From the first name of a file on, none is given.
ok($program->arm('rename', 1, 1), 'no artifact can be stored');
my $r = run_of();
my (undef, $refused) = $program->disarm;
cmp_ok($refused, '>', 0, "$refused names were refused");
is($r->{status}, 'partial_success', 'a run that lost some has not succeeded')
    or diag explain $r;
like("@{ $r->{warnings} }", qr/could not be stored: /, 'and says what');
is($r->{result}{summary}{succeeded}, 2, 'its result is in the answer');
is(run_of()->{status}, 'succeeded', 'the next run is whole');
is($i->stop, 0, 'stops');
done_testing();
