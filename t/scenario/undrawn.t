#!/usr/bin/perl
# Runs of text with the real programs: pages that build themselves in frames are
# read whole, in a browser of the run's own and in a spare, whose first tab was
# open before.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

my $srcdir = $ENV{srcdir} // '.';
my $site =
    BrowserTask::Scenario::Site->new(directory => "$srcdir/t/pageframes");
my %text = (
	'/animationframe.html' => 'All was built.',
	'/intersection.html' => 'Loaded: far.',
	'/resize.html' => 'First size.',
	'/animation.html' => 'The transition ended.',
	'/idle.html' => 'Idle at last.',
);

sub test_run {
	my ($spares) = @_;
	my $i = BrowserTask::Harness->new(mode => (modes())[0],
	    settings => ["warmCells=$spares"])->start;
	my $c = client($i);

	ok(wait_until(60,
		sub { $c->call('profile.get')->{warmCells} == $spares }),
	    "$spares spares are ready");
	my $answer = batch($c, [ map { $site->url($_) } sort keys %text ], {});
	my $r = ended($c, $answer->{runId}) or return fail('it ends');
	$r = get($c, $answer->{runId}, 'output');
	my $row = artifact_of($r, 'extraction')
	    or return fail('what was read is kept');
	my $all = JSON::PP->new->utf8->decode(
		artifact($c, $row->{artifact_id}));
	my %said = map { $_->{url} => JSON::PP->new->encode($_->{content}) }
	    @$all;
	for my $path (sort keys %text) {
		like($said{ $site->url($path) } // '', qr/\Q$text{$path}/,
			"$path: is read whole");
	}
	like($i->log, qr/takes a spare/, 'the run took it') if $spares;
	is($i->stop, 0, 'stops');
}

test_run($_) for 0, 1;
done_testing();
