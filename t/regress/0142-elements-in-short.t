#!/usr/bin/perl
# Each element came with an id and a rectangle that nobody had asked for, a third
# of what a model had to read of a link, and half of a button.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

my $dir = tempdir('bt-short-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
open(my $fh, '>', "$dir/p.html") or die "$!\n";
print $fh '<!DOCTYPE html><meta charset=utf-8><title>p</title><body '
    . 'style="margin:0"><a href="/x" style="position:absolute;left:30px;'
    . 'top:2000px;width:40px;height:20px">There</a>';
close $fh or die "$!\n";
my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

# The element as the result has it, and as the artifact.
sub element {
	my (%extract) = @_;
	my $s = $c->run('paginated_extract', { startUrl => $site->url('/p'),
		pagination => { maxPages => 1 }, extract => \%extract },
		{ mode => 'async' });
	my $r = ended($c, $s->{runId});
	my $whole = JSON::PP->new->utf8->decode(artifact($c,
		artifact_of($r, 'extraction')->{artifact_id}));
	return map { $_->[0]{pageInfo}{elements}[0] }
	    $r->{output}{result}{pages}, $whole;
}

my %plain = (role => 'link', name => 'There', tag => 'a',
	href => $site->url('/x'));
my $yes = JSON::PP::true;
is_deeply([ element() ], [ \%plain, \%plain ], 'no id, no place');
my ($full) = element(ids => $yes, rects => $yes);
is_deeply($full, { %plain, id => 'link_There_1', rect => [ 30, 2000, 40, 20 ] },
	'ids and rects, where they are asked for');
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
