# Points: instances that end at crash points (common/crashpoint.def).
#
#   crash_points($kind)   names of all POINT, or of all of that kind, such as
#                         LAUNCHER_POINT
#   crashing(%opt)        an instance that was started, of t/scenario/undamped
#                         and supervisord-test, with scripted workers; options
#                         are those of the harness, but supervisord => FILE
#   put($i, $name, $text) what is in its file crash, at which points it ends, or
#                         clock, what time it is
#   met($i, $seconds)     whether it comes to the last of these points, within 60
#                         seconds unless told
#   supervisord($i)       the process of its supervisord
package BrowserTask::Points;
use strict;
use warnings;
use BrowserTask::Harness;
use Exporter qw(import);
our @EXPORT = qw(crash_points crashing met put supervisord);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $source = $ENV{srcdir} // '.';

sub crash_points {
	my $kind = $_[0] // 'POINT';

	open(my $fh, '<', "$source/common/crashpoint.def") or die "points: $!\n";
	return map { /^\Q$kind\E\((\w+),/ ? $1 : () } <$fh>;
}

sub crashing {
	my (%opt) = @_;
	my $supervisord = delete $opt{supervisord}
	    // 'supervisord/supervisord-test';
	my $i = BrowserTask::Harness->new(scripted => 1,
		launcher => "$build/t/scenario/undamped",
		programs => { supervisord => "$build/$supervisord" }, %opt);

	$i->{env} = { BROWSERTASK_TEST_CRASH => $i->dir . '/crash',
		BROWSERTASK_TEST_CLOCK => $i->dir . '/clock' };
	for my $name (qw(crash clock)) {
		open(my $fh, '>', $i->dir . "/$name") or die "$name: $!\n";
		chmod 0666, $i->dir . "/$name";
	}
	return $i->start;
}

# In one write: it is read meanwhile.
sub put {
	my ($i, $name, $text) = @_;

	open(my $fh, '+<', $i->dir . "/$name") or die "$name: $!\n";
	syswrite $fh, sprintf '%-60s', $text;
	close $fh or die "$name: $!\n";
}

sub met {
	my ($i, $seconds) = @_;
	return wait_until($seconds // 60, sub { -z $i->dir . '/crash' });
}

sub supervisord {
	my ($i) = @_;
	my ($p) = grep { $_->{ppid} == $i->{pid}
	    && $_->{cmd} =~ /^(?:\S*\/)?supervisord\b/ } tree($i->{pid});
	return $p->{pid};
}

1;
