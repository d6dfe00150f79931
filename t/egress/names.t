#!/usr/bin/perl
# The system's own files: egressd asks the name servers of resolv.conf and knows
# the hosts of hosts as they are now, also when they were replaced; the launcher
# sees to that.
use strict;
use warnings;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;
use BrowserTask::Dns;
use BrowserTask::Egress;
use BrowserTask::Harness;
use BrowserTask::Scenario;

use constant { SITE => '93.184.215.14', OTHER => '151.101.1.140' };

sub replace {
	my ($path, $text) = @_;
	open(my $fh, '>', "$path.new") or die "$path: $!\n";
	print $fh $text;
	close $fh;
	rename "$path.new", $path or die "$path: $!\n";
}

sub changes {
	my $dir = tempdir('bt-names-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0755, $dir;
	system("cp -a /etc $dir/etc") == 0 or die "cp: $?\n";
	unlink "$dir/etc/hosts";
	replace("$dir/etc/hosts", "127.0.0.1 localhost\n");
	my $site = BrowserTask::Scenario::Site->new;
	my $url = $site->url('/news') =~ s/127\.0\.0\.1/renamed.example/r;
	my $i = BrowserTask::Harness->new(under => [ 'unshare', '-m', 'sh',
		'-c', "mount --bind $dir/etc /etc && exec \"\$0\" \"\$@\"" ])
	    ->start;
	my $run = sub {
		my ($status) = $i->ctl('submit', '-w', 'batch_extract_pages',
		    "urls=$url");
		return $status == 0;
	};
	ok(!$run->(), 'a name that nobody knows');
	replace("$dir/etc/hosts", "127.0.0.1 localhost renamed.example\n");
	ok(wait_until(60, $run), 'a file that was replaced is read');
	rename "$dir/etc/hosts", "$dir/etc/elsewhere" or die;
	symlink 'elsewhere', "$dir/etc/hosts" or die;
	ok($run->(), 'so is one behind a link');
	replace("$dir/etc/elsewhere", "127.0.0.1 localhost\n");
	ok(wait_until(60, sub { !$run->() }), 'also when that is replaced');
	is($i->stop, 0, 'the instance ends');
	$site->stop;
}

own_network($0, SITE, OTHER);
my @dns = map { BrowserTask::Dns->new($_->[0], { 'a.example' => [ [ $_->[1] ] ] },
	53) } [ '127.0.0.2', SITE ], [ '127.0.0.3', OTHER ];
my $site = site(SITE);
my $port = $site->sockport;
my $other = site(OTHER, $port);
my $dir = tempdir('bt-names-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $e = BrowserTask::Egress->new(
    program => "$ENV{builddir}/egressd/egressd");
$e->cell(1);
ok($e->bind(1, 'run_a'), 'a run');

sub names {
	my ($conf, $hosts) = @_;
	replace("$dir/conf", $conf);
	replace("$dir/hosts", $hosts);
	$e->say("names $dir/conf $dir/hosts");
}

# Where a connection to it comes out.
sub leads_to {
	my ($host) = @_;
	my ($sock, $code) = $e->ask(1, $host, $port);
	return 'code ' . ($code // 'none') if !defined $code || $code != 0;
	my $at = quiet($site) ? $other : $site;
	$at->accept;
	return $at == $site ? 'site' : 'other';
}

names("nameserver 127.0.0.2\n", '');
ok(wait_until(60, sub { leads_to('a.example') eq 'site' }),
    'a name server of resolv.conf');
names("nameserver 127.0.0.3\n", SITE . " b.example\n");
ok(wait_until(60, sub { leads_to('a.example') eq 'other' }), 'another one');
is(leads_to('b.example'), 'site', 'a host of hosts');
names("nameserver 127.0.0.3\n", OTHER . " b.example\n");
ok(wait_until(60, sub { leads_to('b.example') eq 'other' }), 'is moved');
$e->setting('resolver', '127.0.0.2');
ok(wait_until(60, sub { leads_to('a.example') eq 'site' }),
    'the setting has precedence');
names("nameserver 127.0.0.3\n", SITE . " b.example\n");
ok(wait_until(60, sub { leads_to('b.example') eq 'site' }), 'but not of hosts');
is(leads_to('a.example'), 'site', 'and keeps it');
my $fds = () = glob "/proc/$e->{pid}/fd/*";
for (1 .. 20) {
	names("nameserver 127.0.0.3\n", OTHER . " b.example\n");
}
ok(wait_until(60, sub { leads_to('b.example') eq 'other' }), 'many times');
ok(wait_until(60, sub { (() = glob "/proc/$e->{pid}/fd/*") <= $fds + 2 }),
    'no descriptor is left');
is($e->stop, 0, 'it ends');

# The launcher, in a system whose /etc can be changed.
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
SKIP: {
	skip 'only root has an /etc of its own', 1
	    if (modes())[0] ne 'system'
	    || system('unshare -m true 2>/dev/null') != 0;
	skip 'no Chromium is installed', 1
	    unless grep { -x "$chromium/$_" }
	    qw(chromium-headless-shell chromium);
	subtest 'the launcher tells of changes' => \&changes;
}
done_testing();
