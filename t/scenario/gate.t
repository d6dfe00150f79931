#!/usr/bin/perl
# No page is loaded by a browser whose children are not confined: a headless
# shell that has its own sandbox off, or that of its GPU process, is put in the
# browser's place, and the whole system refuses to use it. With the real one the run's log has what was seen.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $site = BrowserTask::Scenario::Site->new;

sub acting {
	my ($c, $run) = @_;
	my $e = event($c, $run, 120, sub { $_[0]{type} eq 'phase_changed'
	    && $_[0]{data}{phase} eq 'acting' });
	return $e && $e->{data};
}

# How many filters a process has, and the type of each child of the browser that
# has no more than the browser itself: zygotes are no business of a page.
sub filters {
	my ($pid) = @_;
	return (BrowserTask::Harness::slurp("/proc/$pid/status") // '')
	    =~ /^Seccomp_filters:\s+(\d+)/m ? $1 : undef;
}

sub unconfined {
	my ($i) = @_;
	my @tree = grep { $_->{state} ne 'Z' } tree($i->{pid});
	my ($browser) = grep { $_->{cmd} =~ /--remote-debugging-pipe/
	    && $_->{cmd} !~ /--type=/ } @tree;
	my $own = $browser && filters($browser->{pid}) // return 'no browser';
	my %seen;

	for my $p (@tree) {
		my ($type) = $p->{cmd} =~ /--type=(\S+)/ or next;
		next if $type eq 'zygote';
		my $n = filters($p->{pid}) // next;
		push @{ $seen{$type} }, $n > $own;
	}
	return 'no renderer' if !$seen{renderer};
	return join ' ', sort grep { grep { !$_ } @{ $seen{$_} } } keys %seen;
}

sub test_children {
	my ($mode) = @_;

	for my $name (qw(chromium-headless-shell chromium)) {
		my ($path) = grep { -x } map { "$_/$name" }
		    '/usr/lib/chromium', '/usr/lib64/chromium-browser',
		    '/usr/lib/chromium-browser';
	SKIP: {
			skip "$name is not installed", 2 if !$path;
			my $i = BrowserTask::Harness->new(mode => $mode,
				browser => $path)->start;
			my $c = client($i);
			my $r = batch($c, [ $site->url('/article'),
				$site->url('/never-headers') ],
				{ mode => 'async' }, concurrency => 1);
			ok(done($c, $r->{runId}, 1), "$name: is in a run");
			is(unconfined($i), '', "$name: each child has a filter"
				. ' of its own');
			is($i->stop, 0, 'stop');
		}
	}
}

sub test_confined {
	my ($mode, $warm) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
	    settings => ["warmCells=$warm"])->start;
	my $c = client($i);
	my $r = batch($c, [ $site->url('/article') ], { mode => 'sync' });
	my $s = acting($c, $r->{runId})->{sandbox};

	is($r->{status}, 'succeeded', 'the real browser: a run succeeds');
	cmp_ok($s->{renderers}, '>=', 1, 'its log says: a renderer was seen');
	is($s->{seccomp}, 2, 'with a filter of its own');
	cmp_ok($s->{namespaces}, '>=', 2, 'and namespaces of its own');
	ok($s->{noNewPrivs}, 'and no new privileges');
	is($s->{othersSeccomp}, 2, 'its other children have filters, too');
	my $seen = $c->call('profile.get')->{browser};
	is($seen->{gpus} + $seen->{utilities}, $s->{gpus} + $s->{utilities},
	    'profile.get says how many there are');
	is($i->stop, 0, 'stop');
}

sub test_bare {
	my ($mode, $name) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
	    browser => "$build/t/launch/$name-headless-shell")->start;
	my $c = client($i);

	$site->reset;
	my $r = batch($c, [ $site->url('/article') ], { mode => 'sync' });
	is($r->{status}, 'failed', 'without a sandbox: the run fails');
	error_is($r->{error}, 'EXECUTION_ERROR', 'SANDBOX_MISSING',
	    'and says why');
	my %fetched = $site->fetched;
	is($fetched{'/article'}, undef, 'no page was asked for');
	like($i->log, qr/$r->{runId}: cell \d+: sandbox is not active: /,
	    'so does the log');
	note($1) if $i->log =~ /(sandbox is not active.*)/;
	is($c->call('profile.get')->{browser}{confined}, 0,
	    'and profile.get');
	is($i->stop, 0, 'stop');
	is(left(60, $site->{pid}), '', 'nothing is left');
}

beside(mode_parts(confined => sub { test_confined($_[0], 0) },
	'confined spare' => sub { test_confined($_[0], 1) },
	'not confined' => sub { test_bare($_[0], 'bare') },
	'GPU process not confined' => sub { test_bare($_[0], 'baregpu') },
	children => \&test_children));
done_testing();
