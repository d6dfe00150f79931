#!/usr/bin/perl
# Protections that are really missing: a kernel that knows no Landlock, that
# loads no filters, that makes no more namespaces of a kind. What must be there
# refuses the start and says what to do; waived, it starts, and the audit log,
# the log, profile.get and doctor tell.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $without = "$build/t/launch/without";
# Builds with sanitizers have no filters that could be missing.
my $bare = 0;
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
my $site;
$site = BrowserTask::Scenario::Site->new if grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

sub instance {
	my ($mode, $what, @settings) = @_;
	return BrowserTask::Harness->new(mode => $mode,
		settings => [@settings],
		($what eq '' ? () : (under => [ $without, $what ])));
}

sub profile {
	my ($i) = @_;
	my ($status, $out, $err) = $i->ctl('status', '--json');
	my $p = eval { decode_json($out) } // {};
	return { map { $_->{name} => $_ } @{ $p->{protections} // [] } };
}

sub audit {
	my ($i) = @_;
	my $rows = '';
	# Rows of what has no transaction are committed a moment later.
	wait_until(60, sub {
		my (undef, $out) = $i->ctl('audit', '--action',
		    'protection.waive');
		return ($rows = $out) =~ /protection\.waive/;
	});
	return $rows;
}

sub refused {
	my ($mode, $what, $name, $reason, $waivable) = @_;
	my $i = instance($mode, $what);
	my $t = "$mode, without $what";

	$i->launch;
	ok(!$i->ready, "$t: does not serve");
	is($i->wait >> 8, 71, "$t: exit 71");
	my $log = $i->log;
	like($log, qr/\Q$name\E: $reason.*; to mend it: \S/,
	    "$t: says what, why and what to do");
	if ($waivable) {
		like($log, qr/$name is required; .*waive = "$name"/,
		    "$t: says how to do without");
	} else {
		unlike($log, qr/waive/, "$t: and there is no way around it");
	}
}

# A page is read by the real browser, and doctor has nothing that fails.
sub runs {
	my ($i, $t) = @_;

SKIP: {
		skip 'no Chromium is installed', 2 unless $site;
		my ($status, undef, $err) = $i->ctl('submit', '-w',
		    'batch_extract_pages', 'urls=' . $site->url('/news'));
		is($status, 0, "$t: a run succeeds") or diag $err, $i->log;
		my (undef, $out) = $i->ctl('doctor', '--json');
		my @row = grep { $_->{name} eq 'sandbox' }
		    @{ decode_json($out)->{checks} };
		like($row[-1]{text}, $t =~ /filters/ && !$bare
		    ? qr/^seen active .*, but for a filter of system calls$/
		    : qr{^seen active in the service's last run: renderers\ [1-9]\d*,\ GPU\ processes\ \d+,\ others\ \d+$},
		    "$t: doctor tells what its browser had");
	}
}

sub waived {
	my ($mode, $what, $name) = @_;
	my $i = instance($mode, $what, "waive=own-uids, $name")->start;
	my $t = "$mode, without $what, waived";
	my $p = profile($i)->{$name};

	is($p->{state}, 'off', "$t: the profile says off");
	ok($p->{waived} && $p->{reason}, "$t: waived, and the reason");
	like($i->log, qr/goes on without $name \(.+\)/, "$t: the log tells");
	my $rows = audit($i);
	like($rows, qr/protection\.waive.*$name: /s, "$t: the audit log tells");
	unlike($rows, qr/own-uids/, "$t: not of what is not off");
	my (undef, $out) = $i->ctl('doctor', '--json');
	my ($row) = grep { $_->{name} eq 'protection' &&
	    $_->{text} =~ /^$name: off, as the setting waive says: / }
	    @{ decode_json($out)->{checks} };
	ok($row && $row->{advice} =~ /\S/, "$t: doctor tells, and the fix");
	my @start = grep { /protection\.waive/ } split /\n/, $rows;
	is($i->stop, 0, "$t: stops cleanly");
	$i->start;
	wait_until(60, sub {
		my (undef, $again) = $i->ctl('audit', '--action',
		    'protection.waive');
		return (() = $again =~ /protection\.waive/g) == @start + 1;
	});
	runs($i, $t);
	my (undef, $again) = $i->ctl('audit', '--action', 'protection.waive');
	is(scalar(() = $again =~ /protection\.waive/g), @start + 1,
	    "$t: each start is audited");
	return $i;
}

for my $mode (modes()) {
	my $i = instance($mode, '')->start;
	my $p = profile($i);
	my ($lines) = $i->ctl('doctor');

	is(scalar keys %$p, 14, "$mode: the profile has all protections");
	$bare = $p->{'call-filters'}{state} eq 'weaker';
	is(join(' ', grep { $p->{$_}{state} eq 'off' } sort keys %$p),
	    '', "$mode: none is off here");
	is($p->{'own-uids'}{state}, $mode eq 'system' ? 'on' : 'weaker',
	    "$mode: own uids");
	is(audit_now($i), '', "$mode: nothing to audit");
	$i->stop;

	if ($mode eq 'user') {
		refused($mode, 'user', 'user-namespace',
		    'cannot make namespaces', 0);
	} else {
		refused($mode, 'user', 'browser-sandbox',
		    'an ordinary user cannot', 0);
	}
	refused($mode, 'pid', 'pid-namespace', 'cannot make namespaces', 0);
	refused($mode, 'ipc', 'ipc-namespace', 'cannot make namespaces', 1);
	waived($mode, 'ipc', 'ipc-namespace')->stop;
	waived($mode, 'uts', 'uts-namespace')->stop;

SKIP: {
		skip 'a build without filters', 2 if $bare;
		$i = instance($mode, 'landlock')->start;
		is(profile($i)->{landlock}{state}, 'off',
		    "$mode: without Landlock it serves");
		runs($i, "$mode, without landlock");
		like($i->log, qr/landlock is off: .*; to mend it: /,
		    "$mode: and tells");
		$i->stop;
		refused($mode, 'filters', 'call-filters', 'cannot load', 1);
		waived($mode, 'filters', 'call-filters')->stop;
		waived($mode, 'landlock', 'landlock')->stop;
		$i = instance($mode, 'filters,landlock,ipc,uts',
		    'waive=call-filters, landlock, ipc-namespace, '
		    . 'uts-namespace')->start;
		runs($i, "$mode, without filters and more");
		$i->stop;
	}
}

# The file.
my $i = BrowserTask::Harness->new(
	conf => "maxConcurrentRuns = 2\nwaive = \"landlock, moat\"\n");
$i->launch;
ok(!$i->ready, 'an unknown name is an error');
is($i->wait >> 8, 78, '... in the configuration');
like($i->log, qr/browsertaskd\.conf:2: .*waive.*no protection's.*ipc-namespace/,
    '... with file, line and the names there are');
$i = BrowserTask::Harness->new(conf => "waive = \"pid-namespace\"\n");
$i->launch;
ok(!$i->ready, 'what all rests on cannot be waived');
like($i->log, qr/conf:1: .*pid-namespace, without which there is no run/,
    '... and that is said');
is(left(60, $site ? $site->{pid} : ()), '', 'nothing is left');
done_testing();

sub audit_now {
	my ($i) = @_;
	my ($status, $out) = $i->ctl('audit', '--action', 'protection.waive',
	    '--json');
	return $out =~ /protection\.waive/ ? $out : '';
}
